#pragma once

#include <string>
#include <vector>

#include "artifact/container.h"
#include "graph/graph.h"

namespace lathe {

/// Graphs as the artifact stores them. `scales` and `weights` point into the graphs.
struct StoredGraphs {
  std::string json;                   ///< docs/artifact.md, "Graphs"
  std::vector<StoredTensor> scales;   ///< of per-channel encodings
  std::vector<StoredTensor> weights;  ///< each constant once, in the order of first use
};

/// Throws Error for graphs that check_graph refuses, and for two constants of one name that differ.
StoredGraphs store_graphs(const std::vector<Graph>& graphs);

}  // namespace lathe
