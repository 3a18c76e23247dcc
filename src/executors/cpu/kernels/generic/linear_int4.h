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

void linear_int4(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  if (args.rows == 1 && linear_int4_row(args, begin, end)) return;
  const int64_t group_bytes = 16 * round_up(args.k, 4);
  for (int64_t n = begin; n < end; n += kExpandedChannels) {
    const int64_t count = smaller(kExpandedChannels, end - n);
    for (int64_t c = 0; c < count; c += 16) {
      expand_int4_group(args.int4, (n + c) / 16, args.k, args.int4.scratch + c / 16 * group_bytes);
    }
    linear(channels_of(args, n, count, args.int4.scratch), 0, count);
  }
}

}  // namespace
}  // namespace lathe
