#include "graph/packed_int4.h"

#include <algorithm>
#include <cstring>

#include "graph/packed_weights.h"

namespace lathe {
namespace {

constexpr int64_t kLine = kPackedChannels * kPackedDepth;  // bytes: 16 channels by 2 * 4 columns
constexpr int64_t kLineDepth = 2 * kPackedDepth;
constexpr int64_t kFactorBytes = kPackedChannels / 2;     // of one block
constexpr int64_t kBlocksPerLine = kLine / kFactorBytes;  // of factors

/// How many of `size` make up `count`, the last in part.
int64_t parts(int64_t count, int64_t size) { return (count + size - 1) / size; }

int64_t groups(const Int4Matrix& matrix) { return parts(matrix.channels, kPackedChannels); }

/// A nibble in two's complement, from the low four bits.
int32_t signed_nibble(uint32_t bits) { return static_cast<int32_t>((bits & 15) ^ 8) - 8; }

/// Where the nibble of (channel of the group, column) lies.
struct Nibble {
  int64_t byte;
  int shift;  // 0 or 4
};
Nibble code_place(int64_t channel, int64_t column, const Int4Matrix& matrix) {
  const int64_t lines_of_factors =
      matrix.block == 0 ? 0 : column / (kBlocksPerLine * matrix.block) + 1;
  return {(lines_of_factors + column / kLineDepth) * kLine + channel * kPackedDepth +
              column % kPackedDepth,
          column % kLineDepth < kPackedDepth ? 0 : 4};
}
/// The codes of eight blocks fill whole lines: blocks are multiples of 4 columns.
Nibble factor_place(int64_t channel, int64_t block, const Int4Matrix& matrix) {
  const int64_t lines_of_codes = kBlocksPerLine * matrix.block / kLineDepth;
  return {block / kBlocksPerLine * (1 + lines_of_codes) * kLine +
              block % kBlocksPerLine * kFactorBytes + channel / 2,
          channel % 2 == 0 ? 0 : 4};
}

void put(std::byte* group, const Nibble& at, int32_t value) {
  group[at.byte] |= static_cast<std::byte>((value & 15) << at.shift);
}
uint32_t get(const std::byte* group, const Nibble& at) {
  return (static_cast<uint32_t>(group[at.byte]) >> at.shift) & 15;
}

int32_t code_at(const std::byte* group, int64_t channel, int64_t column, const Int4Matrix& matrix) {
  return signed_nibble(get(group, code_place(channel, column, matrix)));
}
int32_t factor_at(const std::byte* group, int64_t channel, int64_t block,
                  const Int4Matrix& matrix) {
  return static_cast<int32_t>(get(group, factor_place(channel, block, matrix))) + 1;
}

}  // namespace

size_t int4_group_bytes(const Int4Matrix& matrix) {
  return static_cast<size_t>(
      (parts(matrix.k, kLineDepth) + parts(matrix.blocks(), kBlocksPerLine)) * kLine);
}

size_t int4_constant_bytes(const Int4Matrix& matrix) {
  return static_cast<size_t>(groups(matrix)) * int4_group_bytes(matrix) +
         static_cast<size_t>(matrix.channels) * sizeof(int32_t);
}

void pack_int4_group(const int8_t* codes, const uint8_t* factors, int64_t count,
                     const Int4Matrix& matrix, std::byte* group) {
  std::memset(group, 0, int4_group_bytes(matrix));
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t i = 0; i < matrix.k; ++i) {
      put(group, code_place(c, i, matrix), codes[c * matrix.k + i]);
    }
    for (int64_t b = 0; b < matrix.blocks(); ++b) {
      put(group, factor_place(c, b, matrix), factors[c * matrix.blocks() + b] - 1);
    }
  }
}

void copy_int4_channel(const std::byte* from, int64_t source, const Int4Matrix& matrix,
                       std::byte* to, int64_t target) {
  for (int64_t i = 0; i < matrix.k; i += kLineDepth) {
    std::memcpy(to + code_place(target, i, matrix).byte, from + code_place(source, i, matrix).byte,
                kPackedDepth);
  }
  for (int64_t b = 0; b < matrix.blocks(); ++b) {
    put(to, factor_place(target, b, matrix), factor_at(from, source, b, matrix) - 1);
  }
}

void unpack_int4_group(const std::byte* group, int64_t count, const Int4Matrix& matrix,
                       int8_t* codes, uint8_t* factors) {
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t i = 0; i < matrix.k; ++i) {
      codes[c * matrix.k + i] = static_cast<int8_t>(code_at(group, c, i, matrix));
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
      weights[c * matrix.k + i] = static_cast<int8_t>(code_at(group, c, i, matrix) * factor);
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
