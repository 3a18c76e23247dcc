#pragma once

#include <initializer_list>
#include <memory>

#include "graph/graph.h"

namespace lathe {

/// The node that gives `value` if it is one of `ops`, else null.
const Node* producer_if(const Graph& graph, ValueId value, std::initializer_list<Op> ops);

/// Whether a value is a constant of one dimension: a norm weight, a frequency table.
bool is_vector_constant(const Graph& graph, ValueId value);

/// Whether a value is a constant whose numbers are float.
bool has_floats(const Graph& graph, ValueId value);

/// Gives input `input` of a node a constant of its own with the same shape and other numbers, named
/// after the node's module and `what`: a weight that two nodes share may change in two ways.
void replace_weight(Graph& graph, NodeId node, size_t input,
                    std::shared_ptr<const FloatSource> floats, const char* what);

}  // namespace lathe
