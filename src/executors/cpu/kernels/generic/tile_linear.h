#pragma once

#include <cstring>

#include "executors/cpu/kernels/generic/finish_linear.h"

// linear() in two-dimensional registers, tiles of 16 rows by 64 bytes, as AMX has them (Intel,
// "Architecture Instruction Set Extensions Programming Reference", chapter on AMX). 16 lines of
// packed weights are the tile of 64 columns by 16 channels that an activation tile of 16 rows by 64
// columns is multiplied with. `Tiles` is the processor, or what stands in for it in tests:
//   Tiles(rows)              activations and sums have so many rows; weights have 16
//   zero<T>()
//   load<T>(memory, stride)  rows `stride` bytes apart
//   dot<C, A, B>()           C += unsigned bytes of A times signed bytes of B, 32 bits, four-way
//   store<T>(memory, stride)

namespace lathe {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileDepth = 64;
/// Sums of two groups of 16 channels in both planes, [plane][group][row][channel].
struct TileSums {
  alignas(64) int32_t sums[2][2][kTileRows][16];
};

/// 16 lines of weights from column `at` on; those that the group has no more are 0.
inline const int8_t* tile_of_weights(const int8_t* group, int64_t at, int64_t depth,
                                     int8_t* padded) {
  const int64_t left = depth - at;
  if (left >= kTileDepth) return group + at * 16;
  std::memset(padded, 0, static_cast<size_t>(kTileDepth * 16));
  std::memcpy(padded, group + at * 16, static_cast<size_t>(left * 16));
  return padded;
}

/// Columns [begin, end) of two groups, of activations with `kPlanes` planes (byte_planes.h).
template <typename Tiles, int kPlanes>
void multiply_tiles(const LinearArgs& args, const uint8_t* x, const int8_t* first,
                    const int8_t* second, int64_t begin, int64_t end, TileSums& out) {
  const int64_t depth = round_up(args.k, 4);
  alignas(64) int8_t padded[2][kTileDepth * 16];
  Tiles::template zero<0>();
  Tiles::template zero<1>();
  if constexpr (kPlanes == 2) {
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }
  for (int64_t at = begin; at < end; at += kTileDepth) {
    Tiles::template load<6>(tile_of_weights(first, at, depth, padded[0]), 64);
    Tiles::template load<7>(tile_of_weights(second, at, depth, padded[1]), 64);
    const uint8_t* planes = x + kPlanes * at;
    Tiles::template load<4>(planes, args.prepared_stride);
    Tiles::template dot<0, 4, 6>();
    Tiles::template dot<1, 4, 7>();
    if constexpr (kPlanes == 2) {
      Tiles::template load<5>(planes + 64, args.prepared_stride);
      Tiles::template dot<2, 5, 6>();
      Tiles::template dot<3, 5, 7>();
    }
  }
  Tiles::template store<0>(out.sums[0][0], 64);
  Tiles::template store<1>(out.sums[0][1], 64);
  if constexpr (kPlanes == 2) {
    Tiles::template store<2>(out.sums[1][0], 64);
    Tiles::template store<3>(out.sums[1][1], 64);
  }
}

/// Rows [row, row + rows) of the channels from n on, one or two groups.
template <typename Tiles, int kPlanes>
void linear_tiles(const LinearArgs& args, int64_t row, int64_t rows, int64_t n, int64_t groups) {
  const int64_t depth = round_up(args.k, 4);
  const uint8_t* x = args.prepared + row * args.prepared_stride;
  const int8_t* first = args.weights + n * depth;
  // One group is multiplied twice: the second result is not used.
  const int8_t* second = groups == 2 ? first + 16 * depth : first;
  double totals[2][kTileRows][16] = {};
  for (int64_t at = 0; at < depth; at += kSafePlaneDepth) {
    TileSums tile;
    multiply_tiles<Tiles, kPlanes>(args, x, first, second, at, smaller(depth, at + kSafePlaneDepth),
                                   tile);
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int c = 0; c < 16; ++c) {
          const double leading = tile.sums[0][g][r][c];
          totals[g][r][c] += kPlanes == 2 ? leading * 256.0 + tile.sums[1][g][r][c] : leading;
        }
      }
    }
  }
  for (int64_t g = 0; g < groups; ++g) {
    const ChannelGroup group = channel_group(args, n + g * 16, 0);
    for (int64_t r = 0; r < rows; ++r) {
      finish_group(totals[g][r], group, args, args.y + (row + r) * args.y_stride + n + g * 16);
    }
  }
}

/// Blocks of rows are equally high, so that tiles keep their shape: the last two may overlap.
template <typename Tiles, int kPlanes>
void linear_row_blocks(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = (args.rows + kTileRows - 1) / kTileRows;
  const int64_t rows = (args.rows + blocks - 1) / blocks;
  const Tiles tiles(rows);
  for (int64_t n = begin; n < end; n += 32) {
    const int64_t groups = end - n > 16 ? 2 : 1;
    for (int64_t block = 0; block < blocks; ++block) {
      linear_tiles<Tiles, kPlanes>(args, smaller(block * rows, args.rows - rows), rows, n, groups);
    }
  }
}

template <typename Tiles>
void linear_by_tiles(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.bytes) {
    linear_row_blocks<Tiles, 1>(args, begin, end);
  } else {
    linear_row_blocks<Tiles, 2>(args, begin, end);
  }
}

}  // namespace
}  // namespace lathe
