#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/recipe.h"

namespace lathe {

/// How one weight is stored, what the activations of its product are, and why.
struct WeightChoice {
  NodeId node = kNone;
  std::string module;
  Shape shape;
  WeightFormat format;
  QuantSpec activation;
  int rule = -1;       ///< index of the rule that decided; -1: none did
  bool fixed = false;  ///< a head_rotation: no part of the model, so no rule is asked
};

/// The choice for every product with a constant weight, in execution order: what the recipe says,
/// but i8 per channel for a head_rotation. Throws Error naming a rule that matches no weight of the
/// model, and a weight that blocks do not divide.
std::vector<WeightChoice> choose_weights(const Recipe& recipe, const Graph& graph);

/// The formats of the choices, by product.
std::map<NodeId, WeightFormat> formats_of(std::span<const WeightChoice> choices);

/// The products whose activations are not those of the recipe: what PassOptions::products wants.
std::map<NodeId, QuantSpec> other_activations(const Recipe& recipe,
                                              std::span<const WeightChoice> choices);

/// The choices as a table for a terminal, a line for each weight: module, shape, format (with the
/// activations, where they are not those of the recipe), and which rule decided.
std::string explain(const Recipe& recipe, std::span<const WeightChoice> choices);

}  // namespace lathe
