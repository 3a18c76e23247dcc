// Kernels for AArch64 with the int8 matrix extension: activations are split into their high and
// low bytes, unsigned as they are, each multiplied with the signed weights. The two planes of a row
// are the two rows of the 2 x 2 products of usmmla, so that one row fills it.

#include <arm_neon.h>

#include <cstdint>

namespace lathe {
namespace {

constexpr uint8_t kFlip = 0;
constexpr int32_t kPreparedOffset = 0;

/// Channels 0 and 1, then 2 and 3, each with its 8 of k in a row.
struct Weights {
  int8x16_t pairs[2];
};

inline Weights weights_of(int8x16_t first, int8x16_t second) {
  const int32x4x2_t in_rows = vzipq_s32(vreinterpretq_s32_s8(first), vreinterpretq_s32_s8(second));
  return {{vreinterpretq_s8_s32(in_rows.val[0]), vreinterpretq_s8_s32(in_rows.val[1])}};
}

class RowSums {
 public:
  void clear() {
    for (int32x4_t& pair : pairs_) pair = vdupq_n_s32(0);
  }

  void add(int j, uint8x16_t x, const Weights& weights) {
    for (int i = 0; i < 2; ++i) {
      pairs_[2 * j + i] = vusmmlaq_s32(pairs_[2 * j + i], x, weights.pairs[i]);
    }
  }

  int32x4_t high(int j) const {
    return vcombine_s32(vget_low_s32(pairs_[2 * j]), vget_low_s32(pairs_[2 * j + 1]));
  }
  int32x4_t low(int j) const {
    return vcombine_s32(vget_high_s32(pairs_[2 * j]), vget_high_s32(pairs_[2 * j + 1]));
  }

 private:
  /// Of two channels each: their sums of high bytes, then of low bytes.
  int32x4_t pairs_[8];
};

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/neon.h"

namespace lathe {

constinit const Kernels kNeonI8mmKernels = make_table(Isa::neon_i8mm);

}  // namespace lathe
