#pragma once

#include <functional>
#include <utility>

#include "executors/cpu/frame.h"

namespace lathe {

/// Each row of a result out of the same row of u16 codes alone: norms, softmax.
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

  void run(const Frame& frame) const noexcept override;
  /// Computes one row to where `y` points. `member`: whose scratch memory to use.
  void run_row(const Frame& frame, int64_t row, uint16_t* y, int member) const noexcept;
  const char* name() const override { return name_; }

 private:
  const char* name_;
  Rows rows_;
  Body body_;
};

}  // namespace lathe
