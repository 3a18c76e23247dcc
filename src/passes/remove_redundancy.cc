// Before:                                     After:
//   %to = aten.to(%x) {dtype=f32} : f32[4]      %neg = aten.neg(%x)
//   %mul = aten.mul(%to) {other=1.0}
//   %neg = aten.neg(%mul)

#include "passes/pass.h"

namespace lathe {
namespace {

/// The one part of a concatenation that is not empty, or kNone.
ValueId only_part(const Graph& graph, const Node& cat) {
  ValueId found = kNone;
  for (const ValueId part : cat.inputs) {
    if (elements(graph.value(part).shape) == 0) continue;
    if (found != kNone) return kNone;
    found = part;
  }
  return found;
}

/// The input that a node gives on unchanged, or kNone where it does something.
ValueId passed_through(const Graph& graph, const Node& node) {
  const auto same_type = [&] {
    const Value& in = graph.value(node.inputs[0]);
    const Value& out = graph.value(node.output());
    return in.dtype == out.dtype && in.shape == out.shape;
  };
  switch (node.op) {
    case Op::alias:
    case Op::detach_:
    case Op::dropout:
    case Op::lift_fresh_copy:
      return node.inputs[0];
    case Op::cat:
      return only_part(graph, node);
    case Op::copy_:
      return node.inputs[1];
    case Op::to:
    case Op::view:
    case Op::reshape:
    case Op::expand:
    case Op::slice:
    case Op::type_as:
      return same_type() ? node.inputs[0] : kNone;
    case Op::mul:
      return node.inputs.size() == 1 && node.attributes.real("other") == 1.0 ? node.inputs[0]
                                                                             : kNone;
    default:
      return kNone;
  }
}

}  // namespace

void remove_redundancy(Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const ValueId source = passed_through(graph, node);
    if (source != kNone) graph.replace_uses(node.output(), source);
  }
  graph.remove_dead();
}

}  // namespace lathe
