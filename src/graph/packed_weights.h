#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe {

// The one layout of 8-bit weights, made when a model is compiled and read as it lies by every CPU
// kernel: a matrix [channels, k] becomes
//   [ceil(channels / 16)][ceil(k / 4)][16 channels][4 of k] int8, zero padded.
// A block of 16 channels by 4 is one 64-byte cache line and one vector register: the operand of a
// four-way byte dot product. Blocks of one channel group follow each other, so a matrix-vector
// product reads memory in one ascending stream. Start the buffer on a multiple of 64 bytes.

inline constexpr int64_t kPackedChannels = 16;
inline constexpr int64_t kPackedDepth = 4;

/// Bytes of the packed form. channels and k are in [0, 2^30].
size_t packed_weights_bytes(int64_t channels, int64_t k);

/// weights [channels, k] -> packed [packed_weights_bytes(channels, k)].
void pack_weights(const int8_t* weights, int64_t channels, int64_t k, int8_t* packed);

/// The inverse of pack_weights.
void unpack_weights(const int8_t* packed, int64_t channels, int64_t k, int8_t* weights);

/// sums[c] = sum over k of weights[c, k], from the packed form: what folds the zero point of the
/// activations, sum((x - zx) * w) = sum(x * w) - zx * sum(w). k is at most 2^23, so a sum fits.
void sum_packed_weights(const int8_t* packed, int64_t channels, int64_t k, int32_t* sums);

/// Bytes of packed weights as a graph's constant holds them: the packed form, then the sum of each
/// channel, int32 [channels], so that no executor has to read all weights before its first step.
size_t packed_constant_bytes(int64_t channels, int64_t k);

/// The sums behind the packed form of such a constant.
inline const int32_t* packed_weight_sums(const int8_t* packed, int64_t channels, int64_t k) {
  return reinterpret_cast<const int32_t*>(packed + packed_weights_bytes(channels, k));
}
inline int32_t* packed_weight_sums(int8_t* packed, int64_t channels, int64_t k) {
  return reinterpret_cast<int32_t*>(packed + packed_weights_bytes(channels, k));
}

}  // namespace lathe
