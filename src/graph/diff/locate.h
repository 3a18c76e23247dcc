#pragma once

#include "graph/diff/numbered_graphs.h"

namespace lathe {

/// Follows two outputs that are not alike back to where they part: the last place, on the way to
/// the inputs, where the operators still agree.
GraphDifference locate(const NumberedGraphs& graphs, const NumberedGraphs::OutputPair& output);

}  // namespace lathe
