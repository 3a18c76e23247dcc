#include "executors/cpu/pattern_parts.h"
#include "executors/cpu/patterns.h"

namespace lathe {
namespace {

/// The node behind `value` where it is an activation that a product can be gated with.
const Node* activation_behind(const Graph& graph, ValueId value) {
  if (const Node* silu = given_by(graph, value, Op::silu)) return silu;
  const Node* gelu = given_by(graph, value, Op::gelu);
  return gelu != nullptr && gelu->attributes.text("approximate") == "tanh" ? gelu : nullptr;
}

}  // namespace

std::optional<GatedPattern> match_gated(const Graph& graph, const Node& last, const Users& users) {
  if (last.op != Op::mul || last.inputs.size() != 2) return std::nullopt;
  const bool gate_first = activation_behind(graph, last.inputs[0]) != nullptr;
  const Node* activation = activation_behind(graph, last.inputs[gate_first ? 0 : 1]);
  if (activation == nullptr) return std::nullopt;
  GatedPattern found{{activation->id, last.id},       activation->op,
                     activation->inputs[0],           activation->output(),
                     last.inputs[gate_first ? 1 : 0], last.output()};
  if (!all_u16(graph, {found.gate, found.activated, found.up, found.result}) ||
      graph.value(found.gate).shape != graph.value(found.up).shape ||
      !closed(graph, found.covered, {found.gate, found.up}, users)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace lathe
