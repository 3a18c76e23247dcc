#include "passes/match.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

const Node* producer_if(const Graph& graph, ValueId value, std::initializer_list<Op> ops) {
  const Node* node = graph.producer(value);
  if (node == nullptr || std::find(ops.begin(), ops.end(), node->op) == ops.end()) return nullptr;
  return node;
}

bool is_vector_constant(const Graph& graph, ValueId value) {
  return graph.value(value).is_constant() && graph.value(value).shape.size() == 1;
}

bool has_floats(const Graph& graph, ValueId value) {
  return graph.value(value).is_constant() && graph.value(value).constant->floats != nullptr;
}

void replace_weight(Graph& graph, NodeId node, size_t input,
                    std::shared_ptr<const FloatSource> floats, const char* what) {
  std::vector<ValueId> inputs = graph.node(node).inputs;
  const Value old = graph.value(inputs[input]);
  auto constant = std::make_shared<Constant>();
  constant->name = graph.node(node).module + "." + what;
  constant->floats = std::move(floats);
  constant->byte_count = old.constant->byte_count;
  const std::string name = constant->name;
  inputs[input] = graph.add_constant(name, old.dtype, old.shape, std::move(constant));
  graph.set_inputs(node, std::move(inputs));
}

}  // namespace lathe
