#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "executors/cpu/frame.h"

namespace lathe {

/// Element i of a result out of element i of every operand, as they lie in memory; or so many
/// elements at a time out of as many, the heads of a token for instance.
class ElementwiseStep final : public Step {
 public:
  struct Operand {
    BufferId buffer = -1;
    int64_t offset = 0;  ///< elements
  };
  /// Computes elements [begin, end), multiples of the unit.
  using Body = std::function<void(const Frame& frame, int64_t begin, int64_t end)>;

  /// `count` elements, of which `unit` need each other.
  ElementwiseStep(const char* name, std::vector<Operand> operands, BufferId result, int64_t count,
                  Body body, int64_t unit = 1)
      : name_(name),
        operands_(std::move(operands)),
        result_(result),
        count_(count),
        body_(std::move(body)),
        unit_(unit) {}

  const std::vector<Operand>& operands() const { return operands_; }
  BufferId result() const { return result_; }
  int64_t count() const { return count_; }
  int64_t unit() const { return unit_; }

  void run(const Frame& frame) const noexcept override;
  void run_range(const Frame& frame, int64_t begin, int64_t end) const noexcept {
    body_(frame, begin, end);
  }
  const char* name() const override { return name_; }

 private:
  const char* name_;
  std::vector<Operand> operands_;
  BufferId result_;
  int64_t count_;
  Body body_;
  int64_t unit_;
};

}  // namespace lathe
