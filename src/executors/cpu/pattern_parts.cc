#include "executors/cpu/pattern_parts.h"

#include <algorithm>

#include "executors/cpu/values.h"

namespace lathe {

const Node* given_by(const Graph& graph, ValueId value, Op op) {
  const Node* node = graph.producer(value);
  return node != nullptr && node->op == op ? node : nullptr;
}

bool all_u16(const Graph& graph, std::initializer_list<ValueId> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](ValueId id) { return is_codes(graph.value(id), DType::u16); });
}

bool closed(const Graph& graph, const std::vector<NodeId>& covered,
            std::initializer_list<ValueId> operands, const Users& users) {
  const auto inside = [&](NodeId id) {
    return std::find(covered.begin(), covered.end(), id) != covered.end();
  };
  for (const ValueId id : operands) {
    if (inside(graph.value(id).producer)) return false;
  }
  for (const NodeId id : covered) {
    if (id == covered.back()) continue;
    const ValueId result = graph.node(id).output();
    const std::vector<NodeId>& readers = users[static_cast<size_t>(result)];
    if (!std::all_of(readers.begin(), readers.end(), inside)) return false;
    for (const GraphOutput& output : graph.outputs()) {
      if (output.value == result) return false;
    }
  }
  return true;
}

}  // namespace lathe
