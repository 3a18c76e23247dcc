#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// How large what leaves each norm is on average, channel by channel: mean |x|, by the norm's
/// module, [width].
using NormMagnitudes = std::map<std::string, std::vector<float>>;

/// By what the columns of the weights behind a norm are multiplied, by the norm's module, [width].
using ColumnFactors = std::map<std::string, std::vector<float>>;

/// Factors that share the spread of the columns out between weights and activations:
/// sqrt(mean |x_j| / max |W_j|), over all weights that read the norm (SmoothQuant, Xiao et al.
/// 2023, with alpha = 1/2 and AWQ's mean in place of the maximum), with a geometric mean of 1.
/// A large column else sets the step for its whole rows, and the 16-bit activations have room.
/// None for a norm that is read by anything but projections, and none for one without a weight of
/// its own: rotate_residual took it, and has spread the columns already.
ColumnFactors column_factors(const Graph& graph, const NormMagnitudes& magnitudes);

/// Multiplies the columns, and divides the weights of the norms in front of them. The graph
/// computes the same numbers.
void equalize_columns(Graph& graph, const ColumnFactors& factors);

}  // namespace lathe
