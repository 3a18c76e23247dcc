#pragma once

#include <optional>

#include "executors/cpu/place.h"
#include "graph/graph.h"

namespace lathe {

/// Whether a node shows its input's elements in another order or shape, or some of them.
bool only_changes_strides(const Graph& graph, const Node& node);

/// Where the output of such a node lies if its input lies at `input`; nothing where a reshape needs
/// a copy.
std::optional<Place> moved_place(const Graph& graph, const Node& node, const Place& input);

}  // namespace lathe
