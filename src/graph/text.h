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
/// Annotated values show what they will be, ~u16, and what their readers want, ~u16>u8:symmetric.
/// Codes show their encoding: u16[1, 4]<0.001, 32768>, i8[4, 8]<per channel 0>,
/// i4[4, 32]<per channel 0, blocks of 16>.
std::string print_graph(const Graph& graph);

/// The line of it that gives a value, without the indentation: a node, an input or a constant.
std::string print_value(const Graph& graph, ValueId id);

/// The nodes of one module and its submodules alone, in the same form.
std::string print_nodes(const Graph& graph, std::string_view module);

/// Reads what print_graph writes. Constants get no data; a type after ':' is checked against the
/// operator's rule. For tests and tools. Throws Error with the line number.
Graph parse_graph(std::string_view text);

}  // namespace lathe
