#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lathe {

/// The smallest and the largest of some numbers; empty until the first.
struct ValueRange {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();

  bool empty() const { return low > high; }
  float max_abs() const { return empty() ? 0.0f : std::max(-low, high); }
  void include(const ValueRange& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
  bool operator==(const ValueRange&) const = default;
};

/// What a pass over numbers found. `range` means nothing where one of them is NaN or infinite.
struct Scan {
  ValueRange range;
  bool finite = true;
};

/// Reads `count` numbers once.
Scan scan(const float* numbers, int64_t count);

}  // namespace lathe
