#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Readers of every value, as Graph::users() gives them.
using Users = std::vector<std::vector<NodeId>>;

/// The node that gives `value` if it is one of `ops`, else null.
const Node* producer_if(const Graph& graph, ValueId value, std::initializer_list<Op> ops);

/// The one node that reads `value`, if it is an `op` and no output holds the value, else null.
const Node* only_reader(const Graph& graph, const Users& users, ValueId value, Op op);

/// Whether a value is a constant of one dimension: a norm weight, a frequency table.
bool is_vector_constant(const Graph& graph, ValueId value);

/// Whether a value is a constant whose numbers are float.
bool has_floats(const Graph& graph, ValueId value);

/// Whether a value is a result of the graph.
bool is_output(const Graph& graph, ValueId value);

/// Whether a value is an attention mask: it comes in by name, or is computed as a choice between
/// numbers and something as low as a mask.
bool is_mask(const Graph& graph, ValueId value);

/// The dimension that a slice or cat works along, counted from the first.
size_t dimension_of(const Graph& graph, const Node& node);

/// The order that a transpose or permute gives dimensions: its dimension i is dimension [i] of the
/// input.
std::vector<int64_t> permutation_of(const Graph& graph, const Node& node);

// --- projections: a product with a weight, as linear or as conv2d between permutes. Rows are
//     [..., channels].

/// Layouts of a conv2d in front of it ([1, AR, K, 1] -> [1, K, 1, AR]) and behind it.
bool is_permute(const Node& node, std::initializer_list<int64_t> dims);

/// The linear or conv2d whose rows `value` holds, seen through what only changes shape; else null.
const Node* projection_giving(const Graph& graph, ValueId value);

/// The projection whose rows `value` [1, heads, AR, D] holds, cut into heads; else null.
const Node* projection_giving_heads(const Graph& graph, ValueId value);

/// All projections that multiply the rows `value`, in execution order; nothing where it is also
/// read in another way or is an output.
std::optional<std::vector<NodeId>> projections_reading(const Graph& graph, const Users& users,
                                                       ValueId value);

/// A weight as a matrix [channels, k], whether it is [N, K] or [N, K, 1, 1].
Shape matrix_shape(const Graph& graph, ValueId weight);

/// Gives input `input` of a node a constant of its own with the same shape and other numbers, named
/// after the node's module and `what`: a weight that two nodes share may change in two ways. One
/// that bears this name already, or is a part of what bore it, keeps its own.
void replace_weight(Graph& graph, NodeId node, size_t input,
                    std::shared_ptr<const FloatSource> floats, const char* what);

}  // namespace lathe
