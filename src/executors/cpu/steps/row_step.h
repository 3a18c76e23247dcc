#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executors/cpu/frame.h"
#include "executors/cpu/steps/elementwise_step.h"

namespace lathe {

/// Each row of a result out of the same row of u16 codes alone: norms, softmax. Steps behind it
/// that fit become part of it: rows go on while they are in the cache.
class RowStep final : public Step {
 public:
  struct Rows {
    BufferId x = -1;  ///< u16 [count, width]
    int64_t offset = 0;
    BufferId y = -1;  ///< u16 [count, width]
    int64_t count = 0;
    int64_t width = 0;
    BufferId scratch = -1;      ///< scratch_bytes for each thread
    int64_t scratch_bytes = 0;  ///< a multiple of 64
    bool operator==(const Rows&) const = default;
  };
  /// Computes a row.
  using Body = std::function<void(const Kernels& kernels, const uint16_t* x, uint16_t* y,
                                  std::byte* scratch)>;

  RowStep(const char* name, const Rows& rows, Body body)
      : name_(name), rows_(rows), body_(std::move(body)) {}

  const Rows& rows() const { return rows_; }

  /// Whether `behind` goes on with the rows of this step, one or several at a time.
  bool can_end_with(const ElementwiseStep& behind) const;
  /// Such a step becomes part of this one. Both results are in memory.
  void end_with(std::unique_ptr<ElementwiseStep> behind);

  void run(const Frame& frame) const noexcept override;
  /// Computes one row to where `y` points. `member`: whose scratch memory to use.
  void run_row(const Frame& frame, int64_t row, uint16_t* y, int member) const noexcept;
  const char* name() const override { return name_.c_str(); }

 private:
  /// Whether an operand is what this step gives.
  bool gives(const ElementwiseStep::Operand& operand) const;
  /// How many rows are needed at a time with a step more behind.
  int64_t rows_for(const ElementwiseStep& behind) const;

  std::string name_;
  Rows rows_;
  Body body_;
  std::vector<std::unique_ptr<ElementwiseStep>> behind_;
  int64_t together_ = 1;  // rows that the steps behind need at a time
};

}  // namespace lathe
