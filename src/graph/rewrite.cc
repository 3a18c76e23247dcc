#include "graph/rewrite.h"

namespace lathe {

ValueId Rewrite::insert_before(NodeId where, NodeSpec spec) {
  const ValueId output = graph_.append(std::move(spec));
  inserted_.emplace_back(graph_.value(output).producer, where);
  return output;
}

ValueId Rewrite::replace_node(NodeId node, NodeSpec spec) {
  const ValueId old = graph_.node(node).output();
  spec.module = graph_.node(node).module;
  const ValueId output = insert_before(node, std::move(spec));
  stand_in(graph_, output, old);
  replace(old, output);
  return output;
}

void Rewrite::apply() {
  const auto count = static_cast<size_t>(graph_.node_count());
  std::vector<std::vector<NodeId>> before(count);  // per node: what stands before it
  std::vector<bool> moves(count, false);
  for (const auto& [node, where] : inserted_) {
    before[static_cast<size_t>(where)].push_back(node);
    moves[static_cast<size_t>(node)] = true;
  }
  std::vector<NodeId> order;
  order.reserve(graph_.order().size());
  for (const NodeId id : graph_.order()) {
    if (moves[static_cast<size_t>(id)]) continue;
    const std::vector<NodeId>& nodes = before[static_cast<size_t>(id)];
    order.insert(order.end(), nodes.begin(), nodes.end());
    order.push_back(id);
  }
  graph_.set_order(std::move(order));
  graph_.replace_uses(replacements_);
}

void take_type(Graph& graph, ValueId value, ValueId from) {
  const Value& source = graph.value(from);
  graph.set_value_type(value, source.dtype, source.encoding);
  graph.set_spec(value, source.spec);
}

void stand_in(Graph& graph, ValueId value, ValueId from) {
  take_type(graph, value, from);
  graph.set_read_as(value, graph.value(from).read_as);
}

}  // namespace lathe
