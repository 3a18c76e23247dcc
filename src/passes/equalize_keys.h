#pragma once

#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Largest magnitudes of the keys of each layer as they go into the cache: [layer][Hkv * D].
using KeyMagnitudes = std::vector<std::vector<float>>;

/// Divides every dimension of the keys by its largest magnitude and multiplies the queries by it,
/// so that one 8-bit encoding serves all dimensions (QServe's SmoothAttention, Lin et al. 2024,
/// with all of the difficulty moved to the 16-bit queries). The two dimensions that RoPE turns into
/// each other share a factor. Folded into the projections, or into the norms of queries and keys
/// where these stand between: one that all heads share has the largest of all heads. The graph
/// computes the same numbers. Leaves a layer alone where anything else stands before RoPE.
void equalize_keys(Graph& graph, const KeyMagnitudes& magnitudes);

}  // namespace lathe
