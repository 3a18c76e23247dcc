// Before:                                                   After:
//   input %k_cache_0 : f32[1, 2, 8, 63]                       input %k_cache_0 : u8[1, 2, 8, 63]
//   %q = lathe.quantize(%k_cache_0) : u8[1, 2, 8, 63]                              <0.02, 128>
//              <0.02, 128>                                    ...
//   ...                                                       output logits = %conv2d
//   %dq = lathe.dequantize(%conv2d) : f32[1, 1, 64]
//   output logits = %dq

#include <utility>

#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {

void tag_quant_io(Graph& graph) {
  const Users users = graph.users();
  for (const ValueId id : graph.inputs()) {
    const Node* quantize = only_reader(graph, users, id, Op::quantize);
    if (quantize == nullptr) continue;
    const ValueId codes = quantize->output();
    graph.set_value_type(id, graph.value(codes).dtype, graph.value(codes).encoding);
    graph.replace_uses(codes, id);
  }
  std::vector<GraphOutput> outputs = graph.outputs();
  for (GraphOutput& output : outputs) {
    const Node* dequantize = producer_if(graph, output.value, {Op::dequantize});
    if (dequantize != nullptr) output.value = dequantize->inputs[0];
  }
  graph.set_outputs(std::move(outputs));
  graph.remove_dead();
}

}  // namespace lathe
