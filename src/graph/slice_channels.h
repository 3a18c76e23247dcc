#pragma once

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace lathe {

/// Channels [first, first + count) of a constant along its first dimension: of a weight [N, K] or
/// [N, K, 1, 1] in any layout, or of a bias [N]. The result has the codes and the scales of those
/// channels, and `suffix` behind the names of value and constant. Floats stay where they are; bytes
/// are copied.
Value slice_channels(const Value& value, int64_t first, int64_t count, std::string_view suffix);

}  // namespace lathe
