// Before:                                                After:
//   %reshape = aten.reshape(%x) {sizes=[1, AR, N]}         %reshape_1 = aten.reshape(%x)
//   %view = aten.view(%reshape) {sizes=[1, AR, h, D]}          {sizes=[1, AR, h, D]}
//
// A shape on the way that others read too stays for them. A chain that ends in the shape it began
// with vanishes. Everything here moves codes, so no chain crosses a change of encoding.
//
// With one token per call [1, AR, 1, D] and [1, 1, AR, D] look alike. A single change of shape
// stays where it could be such a one. A chain from one to the other would vanish in the decode
// graph alone, and be found where the roles are compared.

#include <algorithm>
#include <vector>

#include "graph/rewrite.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool is_shape_change(const Node& node) {
  return node.op == Op::view || node.op == Op::reshape || node.op == Op::unsqueeze;
}

/// Whether two equal shapes are equal in the graphs of all roles. Sure is what leaves AR one place
/// to be in.
bool is_same_in_every_role(const Graph& graph, const Shape& shape) {
  const auto ones = shape.empty() ? 0 : std::count(shape.begin() + 1, shape.end(), 1);
  const int64_t tokens = graph.tokens_per_call();
  if (tokens == 1) return ones <= 1;
  return ones == 0 || std::find(shape.begin(), shape.end(), tokens) == shape.end();
}

/// Whether reading `first` is as good as reading `last`, which holds the same numbers.
bool is_identity(const Graph& graph, ValueId first, ValueId last) {
  const Value& from = graph.value(first);
  const Value& to = graph.value(last);
  return from.shape == to.shape && from.spec == to.spec && !from.read_as;
}

/// Whether anything but another change of shape needs the value.
bool is_needed(const Graph& graph, const Users& users, ValueId value) {
  const std::vector<NodeId>& readers = users[static_cast<size_t>(value)];
  return is_output(graph, value) || std::any_of(readers.begin(), readers.end(), [&](NodeId id) {
           return !is_shape_change(graph.node(id));
         });
}

}  // namespace

void fuse_consecutive_reshape(Graph& graph) {
  const Users users = graph.users();
  // Per value: where the chain that makes it begins.
  std::vector<ValueId> begins(static_cast<size_t>(graph.value_count()), kNone);
  const std::vector<NodeId> order = graph.order();
  Rewrite rewrite(graph);
  for (const NodeId id : order) {
    if (!is_shape_change(graph.node(id))) continue;
    const ValueId last = graph.node(id).output();
    const ValueId input = graph.node(id).inputs[0];
    const bool alone = begins[static_cast<size_t>(input)] == kNone;
    const ValueId first = alone ? input : begins[static_cast<size_t>(input)];
    begins[static_cast<size_t>(last)] = first;
    if (is_identity(graph, first, last) &&
        (!alone || is_same_in_every_role(graph, graph.value(last).shape))) {
      rewrite.replace(last, first);
    } else if (!alone && is_needed(graph, users, last)) {
      rewrite.replace_node(id, {.op = Op::reshape,
                                .inputs = {first},
                                .attributes = {{"sizes", graph.value(last).shape}}});
    }
  }
  rewrite.apply();
  graph.remove_dead();
}

}  // namespace lathe
