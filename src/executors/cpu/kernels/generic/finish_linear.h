#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

/// What each channel of a group of 16 adds to its raw sum and multiplies with; see LinearArgs. The
/// lanes after the last channel are 0.
struct ChannelGroup {
  double add[16];
  double multiplier[16];
  int64_t count;  ///< channels of the group that there are
};

/// `offset`: a prepared activation stands for x - offset.
inline ChannelGroup channel_group(const LinearArgs& args, int64_t first, int32_t offset) {
  ChannelGroup group = {};
  group.count = smaller(16, args.channels - first);
  const double shift = offset - args.x_zero_point;
  for (int64_t c = 0; c < group.count; ++c) {
    group.add[c] = shift * args.weight_sums[first + c];
    if (args.bias != nullptr) group.add[c] += args.bias[first + c];
    group.multiplier[c] = args.multiplier[first + c];
  }
  return group;
}

/// Raw sums of one row and 16 channels -> output codes. Sums are whole numbers below 2^53, so
/// float64 adds them exactly in any order.
inline void finish_group(const double* sums, const ChannelGroup& group, const LinearArgs& args,
                         uint16_t* y) {
  const double low = args.y_low - args.y_zero_point;
  const double high = args.y_high - args.y_zero_point;
  int32_t codes[16];
  for (int c = 0; c < 16; ++c) {
    const double steps = (sums[c] + group.add[c]) * group.multiplier[c];
    codes[c] = static_cast<int32_t>(round_even(limit(steps, low, high))) + args.y_zero_point;
  }
  for (int64_t c = 0; c < group.count; ++c) y[c] = static_cast<uint16_t>(codes[c]);
}

}  // namespace
}  // namespace lathe
