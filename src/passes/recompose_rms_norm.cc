// Before:
//   %pow = aten.pow(%x) {exponent=2}
//   %mean = aten.mean(%pow) {dim=-1}
//   %add = aten.add(%mean) {other=1e-05}
//   %rsqrt = aten.rsqrt(%add)
//   %mul = aten.mul(%x, %rsqrt)
//   %mul_1 = aten.mul(%w, %mul)
//
// After:
//   %rms_norm = lathe.rms_norm(%x, %w) {eps=1e-05}

#include <optional>

#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

struct RmsNorm {
  ValueId x = kNone;
  ValueId weight = kNone;
  double eps = 0.0;
};

/// x * rsqrt(mean(x^2) + eps), read backwards from the product.
std::optional<RmsNorm> match_normalized(const Graph& graph, const Node& product) {
  if (product.inputs.size() != 2) return std::nullopt;
  const ValueId x = product.inputs[0];
  const Node* rsqrt = producer_if(graph, product.inputs[1], {Op::rsqrt});
  if (rsqrt == nullptr) return std::nullopt;
  const Node* shifted = producer_if(graph, rsqrt->inputs[0], {Op::add});
  if (shifted == nullptr || shifted->inputs.size() != 1) return std::nullopt;
  const Node* mean = producer_if(graph, shifted->inputs[0], {Op::mean});
  if (mean == nullptr) return std::nullopt;
  const Node* square = producer_if(graph, mean->inputs[0], {Op::pow});
  if (square == nullptr || square->inputs[0] != x || square->attributes.real("exponent") != 2.0) {
    return std::nullopt;
  }
  return RmsNorm{x, kNone, shifted->attributes.real("other")};
}

std::optional<RmsNorm> match(const Graph& graph, const Node& node) {
  if (node.op != Op::mul || node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ValueId weight = node.inputs[side];
    const Node* product = producer_if(graph, node.inputs[1 - side], {Op::mul});
    if (product == nullptr || !is_vector_constant(graph, weight)) continue;
    if (std::optional<RmsNorm> norm = match_normalized(graph, *product)) {
      norm->weight = weight;
      return norm;
    }
  }
  return std::nullopt;
}

}  // namespace

void recompose_rms_norm(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const std::optional<RmsNorm> norm = match(graph, graph.node(id));
    if (!norm) continue;
    const ValueId old = graph.node(id).output();
    const ValueId fused = graph.insert_before(id, {.op = Op::rms_norm,
                                                   .inputs = {norm->x, norm->weight},
                                                   .attributes = {{"eps", norm->eps}},
                                                   .module = graph.node(id).module});
    graph.replace_uses(old, fused);
  }
  graph.remove_dead();
}

}  // namespace lathe
