#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/op.h"

namespace lathe {

/// The numbers that rotary embeddings multiply by, one row a position: [context, frequencies],
///   function(position * frequency) * scaling
/// in float32, in the order of the modeling code. `function` is Op::cos or Op::sin; frequencies are
/// in radians per position.
std::vector<float> rotary_table(Op function, std::span<const float> frequencies, int64_t context,
                                double scaling);

}  // namespace lathe
