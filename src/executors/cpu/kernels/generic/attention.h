#pragma once

#include <cstddef>
#include <cstring>

#include "executors/cpu/kernels/generic/attention_scratch.h"
#include "executors/cpu/kernels/generic/numeric.h"

// Attention over the dot products of one instruction set. The source file that includes this
// defines before, in the anonymous namespace (x are u16 codes, w = code - 128 of a key or value):
//   kPreparedOffset              a prepared x stands for x - kPreparedOffset
//   prepare_activation(x, k, prepared)
//   pack_block(source, stride, depth, width, next, packed, sums)
//       depth rows of `width` <= kBlock codes, `stride` bytes apart -> w as dot_block wants it and
//       sums[kBlock] of w over depth; `next` bytes on is what will be read next (a hint)
//   dot_block(prepared, packed, depth, out)
//       out[kBlock] = sum over depth of prepared x * w, modulo 2^32
// Integer sums may wrap around on their way: the bounds of arguments.h say that the result fits.

namespace lathe {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

/// Columns of the scores, or of a head, that one block of packed keys or values covers.
struct Piece {
  int64_t column;  ///< first, counted over past and fresh
  int64_t count;   ///< 1 to kBlock
  const KvSegment* segment;
  int64_t offset;  ///< first, within its segment
};

/// Calls work(piece) for the pieces of `ranges`; no piece crosses from past to fresh.
template <typename Work>
inline void for_each_piece(const AttentionArgs& args, const ColumnRange* ranges, int64_t count,
                           const Work& work) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t column = ranges[i].begin;
    while (column < ranges[i].end) {
      const bool fresh = column >= args.past.columns;
      const int64_t stop = fresh ? ranges[i].end : smaller(ranges[i].end, args.past.columns);
      const int64_t size = smaller(kBlock, stop - column);
      work(Piece{column, size, fresh ? &args.fresh : &args.past,
                 fresh ? column - args.past.columns : column});
      column += size;
    }
  }
}

/// Calls work(begin, end) for groups of whole lanes that cover `ranges`, each group once.
template <typename Work>
inline void for_each_lane_span(const ColumnRange* ranges, int64_t count, const Work& work) {
  int64_t done = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = larger(done, ranges[i].begin / kLanes * kLanes);
    const int64_t end = round_up(ranges[i].end, kLanes);
    if (begin < end) work(begin, end);
    done = larger(done, end);
  }
}

/// The soft cap of a scaled score.
inline float cap(float x, const SoftcapEncodings& e) {
  const float divided = encode_steps(x / e.divisor, e.divided, kCodeMax) * e.divided.scale;
  const float curved = encode_steps(tanh_f32(divided), e.curved, kCodeMax) * e.curved.scale;
  return encode_steps(curved * e.factor, e.capped, kCodeMax) * e.capped.scale;
}

/// From raw dot products to scaled scores, and those, capped or not, to what `finish(score, i)`
/// makes of them. raw, sums and scores [round_up(count, kLanes)].
template <bool kCapped, typename Finish>
inline void scale_lanes(const int32_t* raw, const int32_t* sums, int64_t count,
                        const AttentionEncodings& e, float* scores, const Finish& finish) {
  const double low = -e.scores.zero_point;
  const double high = kCodeMax - e.scores.zero_point;
  const uint32_t shift = static_cast<uint32_t>(kPreparedOffset - e.q_zero_point);
  for (int64_t i = 0; i < round_up(count, kLanes); ++i) {
    const int32_t sum = static_cast<int32_t>(static_cast<uint32_t>(raw[i]) +
                                             shift * static_cast<uint32_t>(sums[i]));
    const double steps = round_even(limit(sum * e.score_multiplier, low, high));
    const float score = static_cast<float>(steps) * e.scores.scale;
    const float scaled = encode_steps(score * e.scalar, e.scaled, kCodeMax) * e.scaled.scale;
    scores[i] = finish(kCapped ? cap(scaled, e.softcap) : scaled, i);
  }
}

/// The same for `count` scores only.
template <bool kCapped, typename Finish>
inline void scale_count(const int32_t* raw, const int32_t* sums, int64_t count,
                        const AttentionEncodings& e, float* scores, const Finish& finish) {
  if (count % kLanes == 0) {
    scale_lanes<kCapped>(raw, sums, count, e, scores, finish);
    return;
  }
  alignas(64) float lanes[kBlock];
  scale_lanes<kCapped>(raw, sums, count, e, lanes, finish);
  std::memcpy(scores, lanes, static_cast<size_t>(count) * sizeof(float));
}

template <typename Finish>
inline void scale_scores(const int32_t* raw, const int32_t* sums, int64_t count,
                         const AttentionEncodings& e, float* scores, const Finish& finish) {
  if (e.softcap.divisor != 0.0f) {
    scale_count<true>(raw, sums, count, e, scores, finish);
  } else {
    scale_count<false>(raw, sums, count, e, scores, finish);
  }
}

/// What adds the mask to the scores of a piece. Lanes beyond its end add 0.
class MaskSum {
 public:
  MaskSum(const uint16_t* mask, int64_t count, const AttentionEncodings& e)
      : mask_(mask), encodings_(e) {
    if (count % kLanes == 0) return;
    std::memset(lanes_, 0, sizeof(lanes_));
    std::memcpy(lanes_, mask, static_cast<size_t>(count) * sizeof(uint16_t));
    mask_ = lanes_;
  }
  MaskSum(const MaskSum&) = delete;
  MaskSum& operator=(const MaskSum&) = delete;

  float operator()(float score, int64_t i) const {
    const float sum = score + decode(mask_[i], encodings_.mask);
    return encode_steps(sum, encodings_.masked, kCodeMax) * encodings_.masked.scale;
  }

 private:
  const uint16_t* mask_;
  const AttentionEncodings& encodings_;
  alignas(64) uint16_t lanes_[kBlock];
};

/// The largest value a masked score can have where the mask code is 0. Addition and rounding are
/// monotone, so this is their result for the largest code of what the mask is added to.
inline float masked_out_bound(const AttentionEncodings& e) {
  const Affine& scores = e.softcap.divisor != 0.0f ? e.softcap.capped : e.scaled;
  return encode_steps(decode(kCodeMax, scores) + decode(0, e.mask), e.masked, kCodeMax) *
         e.masked.scale;
}

class Attention {
 public:
  explicit Attention(const AttentionArgs& args)
      : args_(args),
        scratch_(args.scratch, args.head_dim, args.heads, args.rows,
                 args.past.columns + args.fresh.columns) {}

  void run() {
    const ColumnRange all{0, columns()};
    for_each_vector([&](int64_t v, int64_t head, int64_t row) {
      prepare_activation(args_.q + head * args_.q_head_stride + row * args_.q_row_stride,
                         args_.head_dim, scratch_.query(v));
    });
    const bool replaces = args_.encodings.replaces;
    const bool skipped =
        args_.active_count > 0 && (replaces ? score_attended() : score_summed_active());
    if (skipped) {
      finish(args_.active, args_.active_count);
    } else {
      replaces ? score_replaced() : score_summed(&all, 1);
      finish(&all, 1);
    }
  }

 private:
  /// Calls work(vector, head, row) for every query vector.
  template <typename Work>
  void for_each_vector(const Work& work) const {
    for (int64_t row = 0; row < args_.rows; ++row) {
      for (int64_t head = 0; head < args_.heads; ++head) work(row * args_.heads + head, head, row);
    }
  }

  int64_t columns() const { return args_.past.columns + args_.fresh.columns; }

  /// Scores of `ranges`, as finish(row, piece) makes a function of (score, offset) for
  /// scale_scores(). What fills up their lanes is -infinity.
  template <typename Finish>
  void score(const ColumnRange* ranges, int64_t count, const Finish& finish) {
    for_each_vector([&](int64_t v, int64_t, int64_t) {
      for (int64_t i = 0; i < count; ++i) {
        float* scores = scratch_.scores(v);
        for (int64_t c = ranges[i].begin / kLanes * kLanes; c < ranges[i].begin; ++c) {
          scores[c] = kMinusInfinity;
        }
        for (int64_t c = ranges[i].end; c < round_up(ranges[i].end, kLanes); ++c) {
          scores[c] = kMinusInfinity;
        }
      }
    });
    for_each_score(
        ranges, count,
        [&](const Piece& piece, int64_t v, int64_t row, const int32_t* raw, const int32_t* sums) {
          scale_scores(raw, sums, piece.count, args_.encodings, scratch_.scores(v) + piece.column,
                       finish(row, piece));
        });
  }

  /// Calls work(piece, vector, row, raw, sums) with the raw dot products of every piece.
  template <typename Work>
  void for_each_score(const ColumnRange* ranges, int64_t count, const Work& work) {
    for_each_piece(args_, ranges, count, [&](const Piece& piece) {
      alignas(64) int32_t sums[kBlock];
      alignas(64) int32_t raw[kBlock];
      pack_block(piece.segment->keys + piece.offset, piece.segment->key_stride, args_.head_dim,
                 piece.count, kBlock, scratch_.packed(), sums);
      for_each_vector([&](int64_t v, int64_t, int64_t row) {
        dot_block(scratch_.query(v), scratch_.packed(), args_.head_dim, raw);
        work(piece, v, row, raw, sums);
      });
    });
  }

  float highest(int64_t v, const ColumnRange* ranges, int64_t count) {
    const float* scores = scratch_.scores(v);
    float best = kMinusInfinity;
    for_each_lane_span(ranges, count, [&](int64_t begin, int64_t end) {
      float span = best;
      LATHE_REDUCTION(max, span)
      for (int64_t c = begin; c < end; ++c) span = scores[c] > span ? scores[c] : span;
      best = span;
    });
    return best;
  }

  float lowest(int64_t v, const ColumnRange* ranges, int64_t count) {
    const float* scores = scratch_.scores(v);
    float best = -kMinusInfinity;
    for_each_lane_span(ranges, count, [&](int64_t begin, int64_t end) {
      float span = best;
      LATHE_REDUCTION(min, span)
      for (int64_t c = begin; c < end; ++c) {
        // -infinity fills up lanes.
        const float score = scores[c] > kMinusInfinity ? scores[c] : -kMinusInfinity;
        span = score < span ? score : span;
      }
      best = span;
    });
    return best;
  }

  // --- the mask is added

  /// Masked scores of `ranges` and their maximum per vector.
  void score_summed(const ColumnRange* ranges, int64_t count) {
    const AttentionEncodings& e = args_.encodings;
    score(ranges, count, [&](int64_t row, const Piece& piece) {
      return MaskSum(args_.mask + row * args_.mask_stride + piece.column, piece.count, e);
    });
    for_each_vector([&](int64_t v, int64_t, int64_t) {
      *scratch_.maximum(v) = highest(v, ranges, count);
      *scratch_.skipped_sum(v) = 0.0;
    });
  }

  /// The same for the active columns. False where one of the others could still count: a skipped
  /// column must be one whose exponential is exactly 0 in every row. Then the maximum, the sum, the
  /// code 0 and the output are what they are with it.
  bool score_summed_active() {
    const float bound = masked_out_bound(args_.encodings);
    if (exp_f32(bound - decode(kCodeMax, args_.encodings.masked)) != 0.0f) return false;
    score_summed(args_.active, args_.active_count);
    bool complete = true;
    for_each_vector([&](int64_t v, int64_t, int64_t) {
      complete = complete && exp_f32(bound - *scratch_.maximum(v)) == 0.0f;
    });
    return complete;
  }

  // --- the mask replaces

  struct AsItIs {
    float operator()(float score, int64_t) const { return score; }
  };

  /// Gives the columns of a range that the row does not attend to another score. Returns how many
  /// it attends to.
  int64_t replace_masked(int64_t v, int64_t row, const ColumnRange& range, float masked) {
    const uint16_t* mask = args_.mask + row * args_.mask_stride;
    const auto attends = static_cast<uint16_t>(args_.encodings.mask.zero_point);
    float* scores = scratch_.scores(v);
    int32_t attended = 0;
    for (int64_t c = range.begin; c < range.end; ++c) attended += mask[c] == attends ? 1 : 0;
    if (attended == range.end - range.begin) return attended;
    LATHE_INDEPENDENT_ITERATIONS
    for (int64_t c = range.begin; c < range.end; ++c) {
      scores[c] = mask[c] == attends ? scores[c] : masked;
    }
    return attended;
  }

  /// Scores of all columns, the masked ones replaced, and their maximum per vector.
  void score_replaced() {
    const ColumnRange all{0, columns()};
    score(&all, 1, [](int64_t, const Piece&) { return AsItIs{}; });
    for_each_vector([&](int64_t v, int64_t, int64_t row) {
      const float masked = lowest(v, &all, 1) - args_.encodings.below;
      replace_masked(v, row, all, masked);
      *scratch_.maximum(v) = highest(v, &all, 1);
      *scratch_.skipped_sum(v) = 0.0;
    });
  }

  /// Scores of the active columns, -infinity for the masked ones among them, their maximum per
  /// vector, and what all masked columns add to the sum of exponentials: each of them the same.
  /// False where a masked column could have another code than 0.
  bool score_attended() {
    const ColumnRange* ranges = args_.active;
    const int64_t count = args_.active_count;
    score(ranges, count, [](int64_t, const Piece&) { return AsItIs{}; });
    bool negligible = true;
    for_each_vector([&](int64_t v, int64_t, int64_t row) {
      const float minimum = lowest(v, ranges, count);
      int64_t attended = 0;
      for (int64_t i = 0; i < count; ++i) {
        attended += replace_masked(v, row, ranges[i], kMinusInfinity);
      }
      const float maximum = highest(v, ranges, count);
      *scratch_.minimum(v) = minimum;
      *scratch_.maximum(v) = maximum;
      *scratch_.skipped_sum(v) = static_cast<double>(columns() - attended);
      // Below 2^-38 an exponential adds nothing (softmax_term), whatever its last bits, and the
      // smallest score of all columns can only be smaller.
      negligible = negligible && exp_f32(minimum - args_.encodings.below - maximum) < 0x1p-38f;
    });
    if (!negligible) lower_minima();
    bool complete = true;
    for_each_vector([&](int64_t v, int64_t, int64_t) {
      const float term =
          exp_f32(*scratch_.minimum(v) - args_.encodings.below - *scratch_.maximum(v));
      *scratch_.skipped_sum(v) *= softmax_term(term);
      // The sum that it is divided by is at least 1.
      complete = complete && encode_probability(term) == 0;
    });
    return complete;
  }

  /// Makes the minima those of all columns.
  void lower_minima() {
    int64_t begin = 0;
    for (int64_t i = 0; i <= args_.active_count; ++i) {
      const bool last = i == args_.active_count;
      const ColumnRange gap{begin, last ? columns() : args_.active[i].begin};
      if (!last) begin = args_.active[i].end;
      if (gap.begin == gap.end) continue;
      for_each_score(
          &gap, 1,
          [&](const Piece& piece, int64_t v, int64_t, const int32_t* raw, const int32_t* sums) {
            alignas(64) float scores[kBlock];
            scale_scores(raw, sums, piece.count, args_.encodings, scores, AsItIs{});
            float minimum = *scratch_.minimum(v);
            LATHE_REDUCTION(min, minimum)
            for (int64_t c = 0; c < piece.count; ++c) {
              minimum = scores[c] < minimum ? scores[c] : minimum;
            }
            *scratch_.minimum(v) = minimum;
          });
    }
  }

  // --- from scores to the output

  /// Softmax codes of one vector.
  void normalize(int64_t v, const ColumnRange* ranges, int64_t count) {
    float* scores = scratch_.scores(v);
    uint16_t* codes = scratch_.codes(v);
    const float maximum = *scratch_.maximum(v);
    double total = *scratch_.skipped_sum(v);
    for_each_lane_span(ranges, count, [&](int64_t begin, int64_t end) {
      double span = 0.0;
      LATHE_REDUCTION(+, span)
      for (int64_t c = begin; c < end; ++c) {
        scores[c] = exp_f32(scores[c] - maximum);
        span += softmax_term(scores[c]);
      }
      total += span;
    });
    const auto sum = static_cast<float>(total);
    for_each_lane_span(ranges, count, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) codes[c] = encode_probability(scores[c] / sum);
    });
  }

  void finish(const ColumnRange* ranges, int64_t count) {
    const int64_t width = round_up(args_.head_dim, kBlock);
    for_each_vector([&](int64_t v, int64_t, int64_t) {
      normalize(v, ranges, count);
      std::memset(scratch_.sums(v), 0, static_cast<size_t>(width) * sizeof(int32_t));
    });
    for_each_piece(args_, ranges, count, [&](const Piece& piece) { add_values(piece); });
    for_each_vector([&](int64_t v, int64_t head, int64_t row) {
      const double low = -args_.encodings.out_zero_point;
      const double high = kCodeMax - args_.encodings.out_zero_point;
      const double multiplier = args_.encodings.out_multiplier;
      const int32_t zero_point = args_.encodings.out_zero_point;
      const int32_t* sums = scratch_.sums(v);
      uint16_t* out = args_.out + head * args_.out_head_stride + row * args_.out_row_stride;
      for (int64_t i = 0; i < args_.head_dim; ++i) {
        out[i] = static_cast<uint16_t>(
            static_cast<int32_t>(round_even(limit(sums[i] * multiplier, low, high))) + zero_point);
      }
    });
  }

  /// Adds probabilities times values of one piece to the sums of every vector. Most probabilities
  /// of a long context are code 0: a piece where all are adds nothing.
  void add_values(const Piece& piece) {
    bool any = false;
    for_each_vector([&](int64_t v, int64_t, int64_t) {
      const uint16_t* codes = scratch_.codes(v) + piece.column;
      uint16_t bits = 0;
      for (int64_t i = 0; i < piece.count; ++i) bits |= codes[i];
      *scratch_.contributes(v) = bits != 0;
      any = any || bits != 0;
      if (bits != 0) prepare_activation(codes, piece.count, scratch_.probabilities(v));
    });
    if (!any) return;
    const int64_t stride = piece.segment->value_stride;
    for (int64_t at = 0; at < args_.head_dim; at += kBlock) {
      alignas(64) int32_t sums[kBlock];
      alignas(64) int32_t raw[kBlock];
      pack_block(piece.segment->values + piece.offset * stride + at, stride, piece.count,
                 smaller(kBlock, args_.head_dim - at), stride * kBlock, scratch_.packed(), sums);
      for_each_vector([&](int64_t v, int64_t, int64_t) {
        if (!*scratch_.contributes(v)) return;
        dot_block(scratch_.probabilities(v), scratch_.packed(), piece.count, raw);
        int32_t* total = scratch_.sums(v) + at;
        for (int64_t i = 0; i < kBlock; ++i) {
          total[i] = static_cast<int32_t>(
              static_cast<uint32_t>(total[i]) + static_cast<uint32_t>(raw[i]) +
              static_cast<uint32_t>(kPreparedOffset) * static_cast<uint32_t>(sums[i]));
        }
      });
    }
  }

  const AttentionArgs& args_;
  AttentionScratch scratch_;
};

void attention(const AttentionArgs& args) noexcept { Attention(args).run(); }

}  // namespace
}  // namespace lathe
