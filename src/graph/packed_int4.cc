#include "graph/packed_int4.h"

#include <algorithm>
#include <cstring>

#include "graph/packed_weights.h"

namespace lathe {
namespace {

constexpr int64_t kLine = kPackedChannels * kPackedDepth;  // bytes: 16 channels by 2 * 4 columns
constexpr int64_t kLineDepth = 2 * kPackedDepth;

int64_t lines(const Int4Matrix& matrix) { return (matrix.k + kLineDepth - 1) / kLineDepth; }
int64_t groups(const Int4Matrix& matrix) {
  return (matrix.channels + kPackedChannels - 1) / kPackedChannels;
}

/// A nibble in two's complement, from the low four bits.
int32_t signed_nibble(uint32_t bits) { return static_cast<int32_t>((bits & 15) ^ 8) - 8; }

/// Where the nibble of (channel of the group, column) lies.
struct Nibble {
  int64_t byte;
  int shift;  // 0 or 4
};
Nibble code_place(int64_t channel, int64_t column) {
  return {column / kLineDepth * kLine + channel * kPackedDepth + column % kPackedDepth,
          column % kLineDepth < kPackedDepth ? 0 : 4};
}
Nibble factor_place(int64_t channel, int64_t block, const Int4Matrix& matrix) {
  const int64_t index = block * kPackedChannels + channel;
  return {static_cast<int64_t>(int4_factors_offset(matrix)) + index / 2, index % 2 == 0 ? 0 : 4};
}

void put(std::byte* group, const Nibble& at, int32_t value) {
  group[at.byte] |= static_cast<std::byte>((value & 15) << at.shift);
}
uint32_t get(const std::byte* group, const Nibble& at) {
  return (static_cast<uint32_t>(group[at.byte]) >> at.shift) & 15;
}

int32_t code_at(const std::byte* group, int64_t channel, int64_t column) {
  return signed_nibble(get(group, code_place(channel, column)));
}
int32_t factor_at(const std::byte* group, int64_t channel, int64_t block,
                  const Int4Matrix& matrix) {
  return static_cast<int32_t>(get(group, factor_place(channel, block, matrix))) + 1;
}

}  // namespace

size_t int4_factors_offset(const Int4Matrix& matrix) {
  return static_cast<size_t>(lines(matrix) * kLine);
}

size_t int4_group_bytes(const Int4Matrix& matrix) {
  const int64_t factor_bytes = matrix.blocks() * kPackedChannels / 2;
  return int4_factors_offset(matrix) +
         static_cast<size_t>((factor_bytes + kLine - 1) / kLine * kLine);
}

size_t int4_constant_bytes(const Int4Matrix& matrix) {
  return static_cast<size_t>(groups(matrix)) * int4_group_bytes(matrix) +
         static_cast<size_t>(matrix.channels) * sizeof(int32_t);
}

void pack_int4_group(const int8_t* codes, const uint8_t* factors, int64_t count,
                     const Int4Matrix& matrix, std::byte* group) {
  std::memset(group, 0, int4_group_bytes(matrix));
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t i = 0; i < matrix.k; ++i) put(group, code_place(c, i), codes[c * matrix.k + i]);
    for (int64_t b = 0; b < matrix.blocks(); ++b) {
      put(group, factor_place(c, b, matrix), factors[c * matrix.blocks() + b] - 1);
    }
  }
}

void unpack_int4_group(const std::byte* group, int64_t count, const Int4Matrix& matrix,
                       int8_t* codes, uint8_t* factors) {
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t i = 0; i < matrix.k; ++i) {
      codes[c * matrix.k + i] = static_cast<int8_t>(code_at(group, c, i));
    }
    for (int64_t b = 0; b < matrix.blocks(); ++b) {
      factors[c * matrix.blocks() + b] = static_cast<uint8_t>(factor_at(group, c, b, matrix));
    }
  }
}

void unpack_int4_group(const std::byte* group, int64_t count, const Int4Matrix& matrix,
                       int8_t* weights) {
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t i = 0; i < matrix.k; ++i) {
      const int32_t factor = matrix.block == 0 ? 1 : factor_at(group, c, i / matrix.block, matrix);
      weights[c * matrix.k + i] = static_cast<int8_t>(code_at(group, c, i) * factor);
    }
  }
}

const int32_t* int4_sums(const std::byte* constant, const Int4Matrix& matrix) {
  const size_t bytes = static_cast<size_t>(groups(matrix)) * int4_group_bytes(matrix);
  return reinterpret_cast<const int32_t*>(constant + bytes);
}

int32_t* int4_sums(std::byte* constant, const Int4Matrix& matrix) {
  return const_cast<int32_t*>(int4_sums(const_cast<const std::byte*>(constant), matrix));
}

}  // namespace lathe
