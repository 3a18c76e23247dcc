#include "executors/cpu/pattern_parts.h"
#include "executors/cpu/patterns.h"

namespace lathe {

std::optional<GatedPattern> match_gated(const Graph& graph, const Node& last, const Users& users) {
  if (last.op != Op::mul || last.inputs.size() != 2) return std::nullopt;
  const Node* silu = given_by(graph, last.inputs[0], Op::silu);
  if (silu == nullptr) return std::nullopt;
  GatedPattern found{
      {silu->id, last.id}, silu->inputs[0], silu->output(), last.inputs[1], last.output()};
  if (!all_u16(graph, {found.gate, found.activated, found.up, found.result}) ||
      graph.value(found.gate).shape != graph.value(found.up).shape ||
      !closed(graph, found.covered, {found.gate, found.up}, users)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace lathe
