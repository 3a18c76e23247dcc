// Before:                                     After:
//   %sigmoid = aten.sigmoid(%x)                 %silu = aten.silu(%x)
//   %mul = aten.mul(%x, %sigmoid)

#include "graph/rewrite.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// x of x * sigmoid(x), in either order; kNone for another product.
ValueId match(const Graph& graph, const Node& node) {
  if (node.op != Op::mul || node.inputs.size() != 2) return kNone;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* sigmoid = producer_if(graph, node.inputs[1 - side], {Op::sigmoid});
    if (sigmoid != nullptr && sigmoid->inputs[0] == node.inputs[side]) return node.inputs[side];
  }
  return kNone;
}

}  // namespace

void recompose_silu(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  Rewrite rewrite(graph);
  for (const NodeId id : order) {
    const ValueId x = match(graph, graph.node(id));
    if (x != kNone) rewrite.replace_node(id, {.op = Op::silu, .inputs = {x}});
  }
  rewrite.apply();
  graph.remove_dead();
}

}  // namespace lathe
