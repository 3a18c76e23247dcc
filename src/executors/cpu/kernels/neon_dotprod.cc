// Kernels for AArch64 with the dot product instructions of Armv8.2: activations are split into
// their high and low bytes, each less 128, since both factors of a product are signed.

#include <arm_neon.h>

#include <cstdint>

namespace lathe {
namespace {

constexpr uint8_t kFlip = 0x80;
constexpr int32_t kPreparedOffset = 128 * 256 + 128;

/// The first and the last 4 of k of 4 channels.
struct Weights {
  int8x16_t first;
  int8x16_t second;
};

inline Weights weights_of(int8x16_t first, int8x16_t second) { return {first, second}; }

class RowSums {
 public:
  void clear() {
    for (int j = 0; j < 4; ++j) high_[j] = low_[j] = vdupq_n_s32(0);
  }

  void add(int j, uint8x16_t x, const Weights& weights) {
    const int8x16_t bytes = vreinterpretq_s8_u8(x);
    high_[j] = vdotq_laneq_s32(high_[j], weights.first, bytes, 0);
    high_[j] = vdotq_laneq_s32(high_[j], weights.second, bytes, 1);
    low_[j] = vdotq_laneq_s32(low_[j], weights.first, bytes, 2);
    low_[j] = vdotq_laneq_s32(low_[j], weights.second, bytes, 3);
  }

  int32x4_t high(int j) const { return high_[j]; }
  int32x4_t low(int j) const { return low_[j]; }

 private:
  int32x4_t high_[4];
  int32x4_t low_[4];
};

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/neon.h"

namespace lathe {

constinit const Kernels kNeonDotprodKernels = make_table(Isa::neon_dotprod);

}  // namespace lathe
