#pragma once

#include <cstdint>

namespace lathe {

/// Two orders of the channels of heads, of which the first `rotating` turn two by two: pairs side
/// by side (2i, 2i + 1), or in halves (i, i + rotating / 2). The channel of the first order that is
/// channel `channel` of the second.
inline int64_t channel_in_pairs(int64_t channel, int64_t head_dim, int64_t rotating) {
  const int64_t within = channel % head_dim;
  if (within >= rotating) return channel;
  const int64_t half = rotating / 2;
  return channel - within + 2 * (within % half) + within / half;
}

}  // namespace lathe
