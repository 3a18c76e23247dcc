#pragma once

#include <vector>

#include "graph/graph.h"

namespace lathe {

/// The part of a node that every part which reads it makes anew. Only for nodes that read inputs,
/// constants and nodes like themselves.
inline constexpr int kEveryPart = -1;

/// Cuts a graph into graphs that give the same results one after another: part 0 first.
///
/// `part_of` has the part of every node, [node_count()]; a node reads none of a later part. What a
/// node of another part reads leaves its own part as an output and enters the other as an input,
/// both with the value's name, type and encoding. Inputs and constants are in every part that reads
/// them; an output of the graph is one of the part that computes it. Two graphs of different roles
/// that are cut alike have boundaries of the same names. Throws Error where a part is empty or
/// reads from a later one.
std::vector<Graph> split_graph(const Graph& graph, const std::vector<int>& part_of);

}  // namespace lathe
