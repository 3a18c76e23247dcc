#include "executors/cpu/steps/elementwise_step.h"

#include <algorithm>
#include <numeric>

namespace lathe {

void ElementwiseStep::run(const Frame& frame) const noexcept {
  constexpr int64_t kCacheLine = 64;  // that no two threads write to
  const int64_t unit = std::lcm(unit_, kCacheLine);
  split_if_large(frame, (count_ + unit - 1) / unit, unit, [&](int64_t begin, int64_t end) {
    run_range(frame, begin * unit, std::min(end * unit, count_));
  });
}

}  // namespace lathe
