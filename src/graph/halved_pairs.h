#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace lathe {

/// A projection's weight [N, K] or bias [N] with its channels, heads of `head_dim`, in another
/// order: the first `rotating` of each head turn in halves (i, i + rotating / 2) where they turned
/// in pairs (2i, 2i + 1). Float; the numbers stay where they are. ".halves" is behind the names of
/// value and constant.
Value halved_pairs(const Value& value, int64_t head_dim, int64_t rotating);

}  // namespace lathe
