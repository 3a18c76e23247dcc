#include "executors/cpu/steps/elementwise_step.h"

#include <algorithm>

namespace lathe {

void ElementwiseStep::run(const Frame& frame) const noexcept {
  constexpr int64_t kUnit = 64;  // no two threads write the same cache line
  split_if_large(frame, (count_ + kUnit - 1) / kUnit, kUnit, [&](int64_t begin, int64_t end) {
    run_range(frame, begin * kUnit, std::min(end * kUnit, count_));
  });
}

}  // namespace lathe
