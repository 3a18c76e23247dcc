#pragma once

#include "executors/cpu/kernels/generic/expand_int4.h"
#include "executors/cpu/kernels/generic/numeric.h"

// Products over byte planes: activations are split into their high and low bytes, unsigned as they
// are, each multiplied with the signed 8-bit weights; of 8-bit activations there are low bytes
// only. The source file that includes this defines before, in the anonymous namespace:
//   Bytes, load_bytes(p)           64 bytes of weights
//   low_nibbles(b), high_nibbles(b)  codes of 4 bits as 16 * code in every byte
//   Line, weights_of(b)            those bytes as the second operand of a dot product
//   Quad, load_quad(p)             four bytes of activations, for all channels
//   Sums                           16 int32, one a channel, with + and *
//   dot(sums, quad, line)          sums + the four-way dot products
//   without_sixteen(sums)          sums / 16, which is exact
//   load_factors(nibbles)          the factors of 16 channels in one block of 4-bit weights, as
//   Sums Totals                         16 float64; add(high, low) adds 256 * high + low
//   ChannelGroup, channel_group(args, n), finish_group(totals, group, args, y)
//   kMaxRows, kTileGroups<planes>, kUnroll   what the registers hold; kPrefetch

namespace lathe {
namespace {

/// A prepared x stands for itself.
constexpr int32_t kPreparedOffset = 0;

/// Byte planes of a prepared row: [k / 64][64 high bytes, 64 low bytes], or [k / 64][64 low bytes].
/// What fills up 64 bytes is 0.
constexpr int kBothPlanes = 2;
constexpr int kOnePlane = 1;

/// Where column i, a multiple of 4, has its first plane; the second is 64 bytes further.
template <int kPlanes>
inline const uint8_t* quad_at(const uint8_t* x, int64_t i) {
  return kPlanes == kBothPlanes ? x + i + (i & ~int64_t{63}) : x + i;
}
constexpr int64_t kNextPlane = 64;

void prepare_bytes(const uint8_t* x, int64_t k, uint8_t* prepared) noexcept {
  __builtin_memcpy(prepared, x, static_cast<size_t>(k));
  __builtin_memset(prepared + k, 0, static_cast<size_t>(round_up(k, 64) - k));
}

inline void fetch(const void* address) { __builtin_prefetch(address); }

/// The sums of some rows and groups of channels.
template <int kPlanes, int kRows, int kGroups>
struct Tile {
  Sums low[kRows][kGroups] = {};
  Sums high[kPlanes == kBothPlanes ? kRows : 1][kGroups] = {};

  /// Adds four of k: x of row r at `quad + r * stride`.
  void add(const uint8_t* quad, int64_t stride, const Line* weights) {
    for (int r = 0; r < kRows; ++r) {
      const Quad first = load_quad(quad + r * stride);
      if constexpr (kPlanes == kBothPlanes) {
        const Quad second = load_quad(quad + r * stride + kNextPlane);
        for (int g = 0; g < kGroups; ++g) {
          high[r][g] = dot(high[r][g], first, weights[g]);
          low[r][g] = dot(low[r][g], second, weights[g]);
        }
      } else {
        for (int g = 0; g < kGroups; ++g) low[r][g] = dot(low[r][g], first, weights[g]);
      }
    }
  }

  void add_to(Totals& totals, int row, int group) const {
    if constexpr (kPlanes == kBothPlanes) {
      totals.add(high[row][group], low[row][group]);
    } else {
      totals.add(Sums{}, low[row][group]);
    }
  }
};

/// Memory that is read after the weights of some tiles. It is fetched while these compute, a little
/// with every four columns: else memory would wait for the registers in every tile but the first,
/// and the registers for memory in that one.
struct Ahead {
  const uint8_t* next;
  int64_t step;  ///< bytes

  Ahead(FetchNext memory, int64_t steps)
      : next(memory.data), step((memory.bytes + steps - 1) / steps) {}

  /// kLines: what a step has where one tile has all rows; of several tiles a step has less.
  template <int kLines>
  void fetch_step() {
    for (int line = 0; line < kLines; ++line) __builtin_prefetch(next + line * 64, 0, 2);
    next += step;
  }
};

/// kRows rows by kGroups groups of 16 channels.
template <int kPlanes, int kRows, int kGroups>
void linear_tile(const LinearArgs& args, const ChannelGroup* groups, int64_t first_row, int64_t n,
                 Ahead& ahead) {
  const int64_t depth = round_up(args.k, 4);
  const int64_t stride = args.prepared_stride;
  const uint8_t* x = args.prepared + first_row * stride;
  const int8_t* packed = args.weights + n * depth;
  Totals totals[kRows][kGroups] = {};
  for (int64_t at = 0; at < depth; at += kSafePlaneDepth) {
    const int64_t stop = smaller(depth, at + kSafePlaneDepth);
    Tile<kPlanes, kRows, kGroups> tile;
    for (int64_t i = at; i < stop; i += 4) {
      Line weights[kGroups];
      for (int g = 0; g < kGroups; ++g) {
        weights[g] = weights_of(load_bytes(packed + (g * depth + i) * 16));
      }
      ahead.template fetch_step<kGroups>();
      tile.add(quad_at<kPlanes>(x, i), stride, weights);
    }
    for (int r = 0; r < kRows; ++r) {
      for (int g = 0; g < kGroups; ++g) tile.add_to(totals[r][g], r, g);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int g = 0; g < kGroups; ++g) {
      finish_group(totals[r][g], groups[g], args,
                   args.y + (first_row + r) * args.y_stride + n + g * 16);
    }
  }
}

/// One row: bound by memory, so the weights are read in one ascending stream.
template <int kPlanes>
void linear_row(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t depth = round_up(args.k, 4);
  for (int64_t n = begin; n < end; n += 16) {
    const int8_t* packed = args.weights + n * depth;
    Totals totals = {};
    for (int64_t at = 0; at < depth; at += kSafePlaneDepth) {
      const int64_t stop = smaller(depth, at + kSafePlaneDepth);
      Tile<kPlanes, 1, 1> tiles[kUnroll];
      const auto add = [&](int64_t i, const uint8_t* quad, int u) {
        const Line weights = weights_of(load_bytes(packed + i * 16));
        fetch(packed + i * 16 + kPrefetch);
        tiles[u].add(quad, 0, &weights);
      };
      int64_t i = at;
      for (; i + 4 * kUnroll <= stop; i += 4 * kUnroll) {
        const uint8_t* quad = quad_at<kPlanes>(args.prepared, i);
        for (int u = 0; u < kUnroll; ++u) add(i + 4 * u, quad + 4 * u, u);
      }
      for (; i < stop; i += 4) add(i, quad_at<kPlanes>(args.prepared, i), 0);
      for (const auto& tile : tiles) tile.add_to(totals, 0, 0);
    }
    finish_group(totals, channel_group(args, n), args, args.y + n);
  }
}

/// What is read after the channels before `begin`: the weights of [begin, end), or where there are
/// none what the arguments say.
inline FetchNext weights_behind(const LinearArgs& args, int64_t begin, int64_t end) {
  if (begin >= end) return args.behind;
  const int64_t depth = round_up(args.k, 4);
  return {reinterpret_cast<const uint8_t*>(args.weights + begin * depth),
          (round_up(end, 16) - begin) * depth};
}

/// The tile of `rows` rows, at most kRows.
template <int kPlanes, int kGroups, int kRows>
void linear_tile_of(const LinearArgs& args, const ChannelGroup* groups, int64_t first_row,
                    int64_t rows, int64_t n, Ahead& ahead) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      linear_tile_of<kPlanes, kGroups, kRows - 1>(args, groups, first_row, rows, n, ahead);
      return;
    }
  }
  linear_tile<kPlanes, kRows, kGroups>(args, groups, first_row, n, ahead);
}

/// Channels [n, n + 16 * kGroups) of all rows; the channels up to `end` come after them.
template <int kPlanes, int kGroups>
void linear_rows(const LinearArgs& args, int64_t n, int64_t end) {
  ChannelGroup groups[kGroups];
  for (int g = 0; g < kGroups; ++g) groups[g] = channel_group(args, n + g * 16);
  const int64_t tiles = (args.rows + kMaxRows - 1) / kMaxRows;
  Ahead ahead(weights_behind(args, n + 16 * kGroups, smaller(end, n + 32 * kGroups)),
              tiles * round_up(args.k, 4) / 4);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t row = args.rows * tile / tiles;
    linear_tile_of<kPlanes, kGroups, kMaxRows>(args, groups, row,
                                               args.rows * (tile + 1) / tiles - row, n, ahead);
  }
}

template <int kPlanes>
void linear_planes(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.rows == 1) {
    linear_row<kPlanes>(args, begin, end);
    return;
  }
  constexpr int kGroups = kTileGroups<kPlanes>;
  int64_t n = begin;
  for (; n + 16 * kGroups <= round_up(end, 16); n += 16 * kGroups) {
    linear_rows<kPlanes, kGroups>(args, n, end);
  }
  for (; n < end; n += 16) linear_rows<kPlanes, 1>(args, n, end);
}

inline void linear_by_vectors(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.bytes) {
    linear_planes<kOnePlane>(args, begin, end);
  } else {
    linear_planes<kBothPlanes>(args, begin, end);
  }
}

/// Sums of code * x over the next lines of 4-bit weights, which are those of 8 columns each from
/// 8 * begin to 8 * end.
template <int kPlanes>
inline void dot_lines(const uint8_t* x, Int4Lines& lines, int64_t begin, int64_t end, Sums* high,
                      Sums* low) {
  Tile<kPlanes, 1, 1> first;
  Tile<kPlanes, 1, 1> second;
  for (int64_t i = begin; i < end; ++i) {
    const Bytes line = load_bytes(lines.codes());
    const Line weights[2] = {weights_of(low_nibbles(line)), weights_of(high_nibbles(line))};
    const uint8_t* quads = quad_at<kPlanes>(x, 8 * i);
    first.add(quads, 0, weights);
    second.add(quads + 4, 0, weights + 1);
  }
  *low = without_sixteen(first.low[0][0] + second.low[0][0]);
  if constexpr (kPlanes == kBothPlanes) {
    *high = without_sixteen(first.high[0][0] + second.high[0][0]);
  }
}

/// kBlockLines: lines that share factors; 0: there are no factors.
template <int kPlanes, int kBlockLines>
void linear_int4_groups(const LinearArgs& args, int64_t begin, int64_t end) {
  const Int4Weights& weights = args.int4;
  for (int64_t n = begin; n < end; n += 16) {
    Int4Lines lines(weights.groups + n / 16 * weights.group_bytes);
    Totals totals = {};
    const int64_t count = (args.k + 7) / 8;
    for (int64_t at = 0; at < count; at += kSafePlaneDepth / 8) {
      const int64_t stop = smaller(count, at + kSafePlaneDepth / 8);
      Sums high = {};
      Sums low = {};
      if constexpr (kBlockLines == 0) {
        dot_lines<kPlanes>(args.prepared, lines, at, stop, &high, &low);
      } else {
        for (int64_t i = at; i < stop; i += kBlockLines) {
          const Sums factor = load_factors(lines.factors());
          Sums block_high = {};
          Sums block_low = {};
          dot_lines<kPlanes>(args.prepared, lines, i, i + kBlockLines, &block_high, &block_low);
          high = high + block_high * factor;
          low = low + block_low * factor;
        }
      }
      totals.add(high, low);
    }
    finish_group(totals, channel_group(args, n), args, args.y + n);
  }
}

template <int kPlanes>
bool linear_int4_planes(const LinearArgs& args, int64_t begin, int64_t end) {
  switch (args.int4.block) {
    case 0:
      linear_int4_groups<kPlanes, 0>(args, begin, end);
      return true;
    case 16:
      linear_int4_groups<kPlanes, 2>(args, begin, end);
      return true;
    case 32:
      linear_int4_groups<kPlanes, 4>(args, begin, end);
      return true;
    case 64:
      linear_int4_groups<kPlanes, 8>(args, begin, end);
      return true;
    default:
      return false;
  }
}

bool linear_int4_row(const LinearArgs& args, int64_t begin, int64_t end) {
  return args.bytes ? linear_int4_planes<kOnePlane>(args, begin, end)
                    : linear_int4_planes<kBothPlanes>(args, begin, end);
}

}  // namespace
}  // namespace lathe
