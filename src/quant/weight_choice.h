#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/recipe.h"

namespace lathe {

/// What a recipe says of one weight.
struct WeightChoice {
  NodeId node = kNone;
  std::string module;
  Shape shape;
  WeightFormat format;
  int rule = -1;  ///< index of the rule that decided; -1: the default
};

/// The choice for every product with a constant weight, in execution order. Throws Error naming a
/// rule that matches no weight of the graph, and a weight that blocks do not divide.
std::vector<WeightChoice> choose_weights(const Recipe& recipe, const Graph& graph);

/// The choices as a table for a terminal, a line for each weight: module, shape, format, and which
/// rule decided.
std::string explain(const Recipe& recipe, std::span<const WeightChoice> choices);

}  // namespace lathe
