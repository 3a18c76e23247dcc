// Before:                                               After:
//   %conv2d = aten.conv2d(%x, %w) ~u16>u8:symmetric       %conv2d = aten.conv2d(%x, %w) ~u16
//   %permute = aten.permute(%conv2d) ~u8:symmetric        %requantize = lathe.requantize(%conv2d)
//                                                                                  ~u8:symmetric
//                                                         %permute = aten.permute(%requantize)
//                                                                                  ~u8:symmetric

#include <algorithm>
#include <utility>

#include "graph/groups.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {

void insert_requantize(Graph& graph) {
  const Users users = graph.users();
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const ValueId made = graph.node(id).output();
    const std::optional<QuantSpec> wanted = graph.value(made).read_as;
    if (!wanted) continue;
    graph.set_read_as(made, std::nullopt);
    if (wanted == graph.value(made).spec) continue;
    const ValueId changed = graph.insert_after(
        id, {.op = Op::requantize, .inputs = {made}, .module = graph.node(id).module});
    graph.set_spec(changed, wanted);
    // Readers that compute keep the numbers as they were made, but for attention's second operand.
    for (const NodeId reader : users[static_cast<size_t>(made)]) {
      std::vector<ValueId> inputs = graph.node(reader).inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool second_operand = graph.node(reader).op == Op::matmul && i == 1;
        if (inputs[i] == made && (moves_codes(graph, graph.node(reader), i) || second_operand)) {
          inputs[i] = changed;
        }
      }
      graph.set_inputs(reader, std::move(inputs));
    }
    std::vector<GraphOutput> outputs = graph.outputs();
    for (GraphOutput& output : outputs) {
      if (output.value == made) output.value = changed;
    }
    graph.set_outputs(std::move(outputs));
  }
}

}  // namespace lathe
