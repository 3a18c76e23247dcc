#pragma once

#include "graph/graph.h"

namespace lathe {

/// Throws Error, naming the value or node, unless every node can be evaluated by the reference
/// kernels: constants hold as many bytes as their types say, encodings are usable, and each
/// operator gets element types that its rule takes. Shapes are the verifier's business.
void require_evaluable(const Graph& graph);

}  // namespace lathe
