#pragma once

#include "graph/graph.h"

namespace lathe {

/// Checks what every pass must leave true, and throws Error with the first fault found:
/// - values are defined before they are used, every shape is what the operator's rule gives;
/// - value-preserving operators share one encoding among inputs and output;
/// - softmax outputs and the attention mask carry their fixed encodings;
/// - a cache input and the matching new key or value share one encoding;
/// - with `integer`: no value is float any more.
void verify(const Graph& graph, bool integer = false);

}  // namespace lathe
