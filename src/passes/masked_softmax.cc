// Before:
//   %add = aten.add(%scores, %attention_mask)
//   %softmax = aten.softmax(%add) {dim=-1}
// After:
//   %masked_softmax = lathe.masked_softmax(%scores, %attention_mask) {dim=-1, below=20}
//
// The sum with a mask has a range of 255 and more, over which the scores keep few of their 16 bits.
// Without that sum they are read as they are.

#include <utility>

#include "graph/fixed_encodings.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {

void masked_softmax(Graph& graph, const PassOptions& options) {
  if (!options.masked_softmax) return;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const Node softmax = graph.node(id);
    if (softmax.op != Op::softmax) continue;
    const Node* sum = producer_if(graph, softmax.inputs[0], {Op::add});
    if (sum == nullptr || sum->inputs.size() != 2) continue;
    ValueId scores = sum->inputs[0];
    ValueId mask = sum->inputs[1];
    if (!is_mask(graph, mask)) std::swap(scores, mask);
    if (!is_mask(graph, mask)) continue;
    const ValueId weights =
        graph.insert_before(id, {.op = Op::masked_softmax,
                                 .inputs = {scores, mask},
                                 .attributes = {{"dim", softmax.attributes.integer("dim")},
                                                {"below", masked_score_below()}},
                                 .module = softmax.module});
    graph.replace_uses(softmax.output(), weights);
  }
  graph.remove_dead();
}

}  // namespace lathe
