#include "graph/packed_weights.h"

#include <cstring>

namespace lathe {
namespace {

int64_t blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

/// Where element (channel, i) of a matrix with `k` columns lies in the packed form.
size_t packed_index(int64_t channel, int64_t i, int64_t k) {
  const int64_t block = channel / kPackedChannels * blocks(k, kPackedDepth) + i / kPackedDepth;
  return static_cast<size_t>((block * kPackedChannels + channel % kPackedChannels) * kPackedDepth +
                             i % kPackedDepth);
}

}  // namespace

size_t packed_weights_bytes(int64_t channels, int64_t k) {
  return static_cast<size_t>(blocks(channels, kPackedChannels) * kPackedChannels) *
         static_cast<size_t>(blocks(k, kPackedDepth) * kPackedDepth);
}

void pack_weights(const int8_t* weights, int64_t channels, int64_t k, int8_t* packed) {
  if (channels % kPackedChannels != 0 || k % kPackedDepth != 0) {
    std::memset(packed, 0, packed_weights_bytes(channels, k));
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < k; ++i) packed[packed_index(c, i, k)] = weights[c * k + i];
  }
}

void unpack_weights(const int8_t* packed, int64_t channels, int64_t k, int8_t* weights) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < k; ++i) weights[c * k + i] = packed[packed_index(c, i, k)];
  }
}

void sum_packed_weights(const int8_t* packed, int64_t channels, int64_t k, int32_t* sums) {
  for (int64_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += packed[packed_index(c, i, k)];
    sums[c] = sum;
  }
}

size_t packed_constant_bytes(int64_t channels, int64_t k) {
  return packed_weights_bytes(channels, k) + static_cast<size_t>(channels) * sizeof(int32_t);
}

}  // namespace lathe
