#pragma once

#include "executors/cpu/kernels/generic/expand_int4.h"

// linear_int4() over the linear() of one instruction set, which the source file that includes this
// defines before, and the function that multiplies a single row without expanding:
//   bool linear_int4_row(args, begin, end)   false: it has none for these weights

namespace lathe {
namespace {

/// The channels [first, first + count) of a product, over weights of their own.
inline LinearArgs channels_of(const LinearArgs& args, int64_t first, int64_t count,
                              const int8_t* weights) {
  LinearArgs part = args;
  part.weights = weights;
  part.weight_sums += first;
  if (part.bias != nullptr) part.bias += first;
  part.multiplier += first;
  part.channels = count;
  part.y += first;
  return part;
}

/// The codes and factors of channels [begin, end).
inline FetchNext groups_behind(const Int4Weights& weights, int64_t begin, int64_t end) {
  if (begin >= end) return {};
  return {weights.groups + begin / 16 * weights.group_bytes,
          (round_up(end, 16) - begin) / 16 * weights.group_bytes};
}

void linear_int4(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  if (args.rows == 1 && linear_int4_row(args, begin, end)) return;
  const int64_t group_bytes = 16 * round_up(args.k, 4);
  for (int64_t n = begin; n < end; n += kExpandedChannels) {
    const int64_t count = smaller(kExpandedChannels, end - n);
    for (int64_t c = 0; c < count; c += 16) {
      expand_int4_group(args.int4, (n + c) / 16, args.k, args.int4.scratch + c / 16 * group_bytes);
    }
    LinearArgs part = channels_of(args, n, count, args.int4.scratch);
    part.behind = groups_behind(args.int4, n + count, smaller(end, n + count + kExpandedChannels));
    linear(part, 0, count);
  }
}

}  // namespace
}  // namespace lathe
