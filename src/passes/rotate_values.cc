// The values of every head, v, become v Q, with Q orthogonal and folded into the projections ("R2"
// of SpinQuant, Liu et al. 2024). Attention mixes the values of different tokens, never of
// different dimensions, so what it gives is rotated alike:
//
// Before:                                       After, head by head:
//   %v = linear(%h, V)                            %v = linear(%h, Q^T V)
//   %o = matmul(%softmax, concat(past, %v))       %o = matmul(%softmax, concat(past, %v))
//   %y = linear(%o, W)                            %y = linear(%o, W Q)

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/rotated_weights.h"

namespace lathe {
namespace {

/// The projections before and after one attention.
struct ValuePath {
  NodeId before = kNone;  // makes the values
  NodeId after = kNone;   // reads what attention gives
  int64_t head_dim = 0;
};

/// The projection that makes the new values, read backwards from attention's second operand.
const Node* find_before(const Graph& graph, ValueId values) {
  if (const Node* reshape = producer_if(graph, values, {Op::reshape})) {
    const Node* expand = producer_if(graph, reshape->inputs[0], {Op::expand});
    const Node* unsqueeze =
        expand == nullptr ? nullptr : producer_if(graph, expand->inputs[0], {Op::unsqueeze});
    if (unsqueeze == nullptr) return nullptr;
    values = unsqueeze->inputs[0];
  }
  const Node* cat = producer_if(graph, values, {Op::cat});
  if (cat == nullptr || cat->inputs.size() != 2) return nullptr;
  const Node* projection = projection_giving_heads(graph, cat->inputs[1]);
  return projection != nullptr && has_floats(graph, projection->inputs[1]) ? projection : nullptr;
}

const Node* find_after(const Graph& graph, const Users& users, ValueId mixed) {
  const Node* transpose = only_reader(graph, users, mixed, Op::transpose);
  if (transpose == nullptr) return nullptr;
  const auto projections = projections_reading(graph, users, transpose->output());
  return projections && projections->size() == 1 ? &graph.node(projections->front()) : nullptr;
}

std::optional<ValuePath> match(const Graph& graph, const Users& users, const Node& node) {
  if (node.op != Op::matmul || producer_if(graph, node.inputs[0], {Op::softmax}) == nullptr) {
    return std::nullopt;
  }
  const Node* before = find_before(graph, node.inputs[1]);
  const Node* after = find_after(graph, users, node.output());
  if (before == nullptr || after == nullptr ||
      users[static_cast<size_t>(before->output())].size() != 1) {
    return std::nullopt;
  }
  return ValuePath{before->id, after->id, graph.value(node.output()).shape.back()};
}

}  // namespace

void rotate_values(Graph& graph) {
  const Users users = graph.users();
  std::vector<ValuePath> paths;
  for (const NodeId id : graph.order()) {
    if (const std::optional<ValuePath> path = match(graph, users, graph.node(id))) {
      paths.push_back(*path);
    }
  }
  if (paths.empty()) return;
  const auto q = std::make_shared<const Orthogonal>(paths.front().head_dim);
  const auto columns = std::make_shared<ColumnRotator>(q);
  const auto floats = [&](ValueId id) { return graph.value(id).constant->floats; };
  for (const ValuePath& path : paths) {
    if (path.head_dim != q->size()) continue;
    const std::vector<ValueId> before = graph.node(path.before).inputs;
    replace_weight(graph, path.before, 1,
                   columns->rotate(floats(before[1]), matrix_shape(graph, before[1])), "weight");
    if (before.size() == 3) {
      replace_weight(graph, path.before, 2,
                     columns->rotate(floats(before[2]), graph.value(before[2]).shape), "bias");
    }
    const ValueId after = graph.node(path.after).inputs[1];
    replace_weight(graph, path.after, 1,
                   rotate_rows(floats(after), matrix_shape(graph, after), nullptr, q), "weight");
  }
}

}  // namespace lathe
