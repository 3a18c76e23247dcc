// Before:                                     After:
//   %silu = aten.silu(%x)                       %sigmoid = aten.sigmoid(%x)
//                                               %mul = aten.mul(%x, %sigmoid)

#include "graph/fixed_encodings.h"
#include "graph/rewrite.h"
#include "passes/pass.h"

namespace lathe {

void decompose_silu(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  Rewrite rewrite(graph);
  for (const NodeId id : order) {
    if (graph.node(id).op != Op::silu) continue;
    const Node silu = graph.node(id);
    const ValueId x = silu.inputs[0];
    const ValueId sigmoid =
        rewrite.insert_before(id, {.op = Op::sigmoid, .inputs = {x}, .module = silu.module});
    const Value& result = graph.value(silu.output());
    if (result.encoding) graph.set_value_type(sigmoid, DType::u16, unit_encoding());
    if (result.spec) graph.set_spec(sigmoid, QuantSpec{DType::u16, Scheme::unit});
    rewrite.replace_node(id, {.op = Op::mul, .inputs = {x, sigmoid}});
  }
  rewrite.apply();
  graph.remove_dead();
}

}  // namespace lathe
