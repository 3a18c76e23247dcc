#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe {

// The one layout of 4-bit weights, codes -7..7: the packed form of 8-bit weights
// (packed_weights.h) with two of its 64-byte lines in one. A matrix [channels, k] becomes
//   [ceil(channels / 16)] groups of
//     codes         [ceil(k / 8)] lines of [16 channels][4 of k] bytes, zero padded: of the 8
//     columns
//                   from 8 i on, the low nibble holds one of the first four and the high nibble the
//                   same of the last four
//     block factors where there are blocks, before the codes of every 8 of them: a line of
//                   [8 blocks][16 channels] nibbles, low nibble first, zero padded
// so that a group is read in one ascending run of 64-byte lines; then the sum of each channel over
// code * factor, int32 [channels]. A code is a nibble in two's complement; a factor from 1 to 16 is
// stored less one. code * factor lies in -128..127, so every such matrix is, exactly, an 8-bit one
// with the same scale per channel.

/// A matrix of 4-bit weights.
struct Int4Matrix {
  int64_t channels = 0;  ///< in [0, 2^30]
  int64_t k = 0;         ///< in [0, 2^23]
  int64_t block = 0;  ///< columns that share a factor: a multiple of 4 that divides k; 0: all are 1

  int64_t blocks() const { return block == 0 ? 0 : k / block; }
};

/// Bytes of one group of 16 channels.
size_t int4_group_bytes(const Int4Matrix& matrix);
/// Bytes of the whole constant, sums included.
size_t int4_constant_bytes(const Int4Matrix& matrix);

/// Channels [16 g, 16 g + count) of a matrix, count at most 16, as its group g of
/// int4_group_bytes: codes [count, k] and factors [count, blocks].
void pack_int4_group(const int8_t* codes, const uint8_t* factors, int64_t count,
                     const Int4Matrix& matrix, std::byte* group);

/// The inverse of pack_int4_group: codes [count, k] and factors [count, blocks].
void unpack_int4_group(const std::byte* group, int64_t count, const Int4Matrix& matrix,
                       int8_t* codes, uint8_t* factors);

/// Copies the codes and factors of one channel of a group to another group of the same k and block,
/// whose channel `target` is all zero bits.
void copy_int4_channel(const std::byte* from, int64_t source, const Int4Matrix& matrix,
                       std::byte* to, int64_t target);

/// code * factor of the first `count` channels of a group, as [count, k].
void unpack_int4_group(const std::byte* group, int64_t count, const Int4Matrix& matrix,
                       int8_t* weights);

/// The sums behind the groups of a constant.
const int32_t* int4_sums(const std::byte* constant, const Int4Matrix& matrix);
int32_t* int4_sums(std::byte* constant, const Int4Matrix& matrix);

}  // namespace lathe
