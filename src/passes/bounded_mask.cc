// Before:                                          After:
//   %mask = aten.where(%visible, %zero)              %where = aten.where(%visible, %zero)
//       {other=-3.4028234663852886e+38}                  {other=-255.0}
//
// A range that holds the lowest float leaves no codes for anything else. What a softmax takes for
// -255 it takes for nothing as well (docs/numerics.md, fixed encodings).

#include "graph/fixed_encodings.h"
#include "passes/pass.h"

namespace lathe {

void bounded_mask(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const Node node = graph.node(id);
    const double lowest = attention_mask_low();
    if (node.op != Op::where || node.inputs.size() != 2 || node.attributes.real("other") >= lowest)
      continue;
    const ValueId bounded = graph.insert_before(id, {.op = Op::where,
                                                     .inputs = node.inputs,
                                                     .attributes = {{"other", lowest}},
                                                     .module = node.module});
    graph.replace_uses(node.output(), bounded);
  }
  graph.remove_dead();
}

}  // namespace lathe
