#include "executors/cpu/steps/reference_step.h"

#include <utility>

#include "executors/cpu/steps/body_step.h"
#include "executors/reference/integer.h"
#include "graph/operators.h"

namespace lathe {

std::unique_ptr<Step> make_reference_step(ReferenceSpec spec) {
  return make_step("reference", [spec = std::move(spec)](const Frame& frame) noexcept {
    const Graph& graph = *spec.graph;
    const Node& node = graph.node(spec.node);
    const auto view = [&](ValueId id, BufferId buffer, int64_t offset) {
      const Value& value = graph.value(id);
      return dense_view(value.dtype, value.shape,
                        frame.at<std::byte>(buffer, byte_size(value.dtype, {offset})));
    };
    std::vector<TensorView> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(view(node.inputs[i], spec.inputs[i].buffer, spec.inputs[i].offset));
    }
    std::vector<TensorView> outputs;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      outputs.push_back(view(node.outputs[i], spec.outputs[i], 0));
    }
    if (computes_on_codes(graph, node)) {
      evaluate_on_codes(graph, node, inputs, outputs);
    } else {
      rule_of(node.op).evaluate(node, inputs, outputs);
    }
  });
}

}  // namespace lathe
