#pragma once

#include <optional>

#include "graph/diff/numbered_graphs.h"

namespace lathe {

/// Walks two graphs back from their outputs, which are alike, and pairs every node of one with one
/// of the other. Gives what speaks against it; unset: they are isomorphic.
std::optional<GraphDifference> pair_nodes(const NumberedGraphs& graphs);

}  // namespace lathe
