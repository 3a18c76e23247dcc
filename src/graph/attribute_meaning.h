#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace lathe {

/// What the attributes of a node say beyond the shape and type of its output, as text: two nodes of
/// one operator whose inputs and outputs have the same types do the same exactly where these are
/// equal. Negative dimensions are counted from the front, 2 and 2.0 are one number, the two
/// dimensions of a transpose have no order, and what the output's type repeats is left out: `sizes`
/// with its -1, the `end` of a slice, wherever beyond the size it lies.
std::map<std::string, std::string> attribute_meaning(const Graph& graph, const Node& node);

}  // namespace lathe
