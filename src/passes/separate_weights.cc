// Before:                                         After:
//   %x = aten.embedding(%embed, %tokens)            %x = aten.embedding(%embed, %tokens)
//   %logits = aten.linear(%x, %embed)               %logits = aten.linear(%x, %embed.weight_of_1)

#include <string>
#include <utility>

#include "graph/groups.h"
#include "passes/pass.h"

namespace lathe {

void separate_weights(Graph& graph) {
  std::vector<int> uses(static_cast<size_t>(graph.value_count()), 0);
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) ++uses[static_cast<size_t>(input)];
  }
  for (const NodeId id : graph.order()) {
    std::vector<ValueId> inputs = graph.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_weight(graph.node(id), i) || uses[static_cast<size_t>(inputs[i])] == 1) continue;
      const Value shared = graph.value(inputs[i]);
      std::string name = shared.name + ".weight_of_" + std::to_string(id);
      inputs[i] = graph.add_constant(std::move(name), shared.dtype, shared.shape, shared.constant);
    }
    if (inputs != graph.node(id).inputs) graph.set_inputs(id, std::move(inputs));
  }
}

}  // namespace lathe
