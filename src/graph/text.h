#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace lathe {

/// A graph as text that a person can read and parse_graph can read back (weights aside):
///   graph decode ar=1 cl=64
///   input %tokens : i32[1, 1]
///   const %w : f32[4, 8]
///   %linear = aten.linear(%x, %w) : f32[1, 4] @ model.layers.0.mlp.up_proj
///   %mul = aten.mul(%linear) {other=0.5} : f32[1, 4]
///   output logits = %mul
/// Codes show their encoding: u16[1, 4]<0.001, 32768>, i8[4, 8]<per channel 0>.
std::string print_graph(const Graph& graph);

/// Reads what print_graph writes. Constants get no data; a type after ':' is checked against the
/// operator's rule. For tests and tools. Throws Error with the line number.
Graph parse_graph(std::string_view text);

}  // namespace lathe
