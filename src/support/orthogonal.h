#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

/// A fixed orthogonal matrix Q of any size that multiplies in O(n log n): random signs, then a
/// Hadamard transform of the largest power of two in `size`, then a cosine transform (DCT-II) over
/// the odd factor that is left. A vector with one large element comes out with all elements about
/// equally large. The same size gives the same matrix everywhere.
class Orthogonal {
 public:
  explicit Orthogonal(int64_t size);

  int64_t size() const { return static_cast<int64_t>(signs_.size()); }
  /// x <- x Q for `count` vectors side by side: element i of vector v is x[i * stride + v].
  void apply(float* x, int64_t count, int64_t stride) const;

 private:
  std::vector<float> signs_;   // [size], 1 or -1
  int64_t odd_;                // size = odd_ * power of two
  std::vector<float> cosine_;  // [odd_, odd_], row k is the k-th cosine
};

}  // namespace lathe
