#pragma once

#include "graph/graph.h"

namespace lathe::cli {

/// Prints what the CPU executor runs for a graph: its steps, their bytes and arithmetic. Repeated
/// layers are folded, but not in JSON.
void print_plan(const Graph& graph, bool json);

}  // namespace lathe::cli
