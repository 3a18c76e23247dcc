#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// How a model is cut into parts that are compiled on their own.
struct ShardOptions {
  int count = 1;                 ///< parts, at most as many as layers; each has as many layers
  bool embedding_first = false;  ///< the embedding of the tokens is a part before them
};

/// The layer that a module path names by its first number; none for "model.norm".
std::optional<int> layer_of(std::string_view module);

/// Layers of a graph, by the paths of its modules ("model.layers.7.mlp"): 1 + the largest.
int layer_count(const Graph& graph);

/// Cuts a graph by its layers. What comes before the first layer is in the first part, what comes
/// behind the last one in the last. What is made of positions alone (rows of the rotary tables) is
/// made anew in each part, as it is smaller than what would cross. Throws Error for a count that is
/// not within 1 and the number of layers.
std::vector<Graph> split_layers(const Graph& graph, const ShardOptions& options);

}  // namespace lathe
