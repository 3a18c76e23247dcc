#include "graph/groups.h"

#include <algorithm>
#include <numeric>

#include "graph/operators.h"

namespace lathe {
namespace {

/// Union-find in which the lowest member stands for its set.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }

  ValueId find(ValueId id) {
    ValueId& parent = parent_[static_cast<size_t>(id)];
    while (parent != parent_[static_cast<size_t>(parent)]) {
      parent = parent_[static_cast<size_t>(parent)];
    }
    return parent;
  }

  void join(ValueId a, ValueId b) {
    a = find(a);
    b = find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<ValueId> parent_;
};

}  // namespace

bool moves_codes(const Graph& graph, const Node& node, size_t index) {
  const OperatorRule& rule = rule_of(node.op);
  return rule.encoding == EncodingRule::moves_codes && rule.moves(static_cast<int>(index)) &&
         graph.value(node.inputs[index]).dtype == DType::f32 &&
         graph.value(node.output()).dtype == DType::f32;
}

bool is_weight(const Node& node, size_t index) {
  const OperatorRule& rule = rule_of(node.op);
  return rule.stores != nullptr && rule.stores(static_cast<int>(index));
}

Groups::Groups(const Graph& graph) {
  const auto count = static_cast<size_t>(graph.value_count());
  Sets sets(count);
  std::vector<bool> active(count, false);
  std::vector<bool> moved(count, false);  // the numbers come from another member of the group
  const auto activate = [&](ValueId id) {
    if (graph.value(id).dtype == DType::f32) active[static_cast<size_t>(id)] = true;
  };

  for (const ValueId id : graph.inputs()) activate(id);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const ValueId output : node.outputs) activate(output);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_weight(node, i)) activate(node.inputs[i]);
      if (!moves_codes(graph, node, i)) continue;
      sets.join(node.inputs[i], node.output());
      moved[static_cast<size_t>(node.output())] = true;
    }
  }

  group_of_.assign(count, kNone);
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const auto index = static_cast<size_t>(id);
    if (!active[index]) continue;
    // The lowest member comes first, and every member is active: it is an input or output of a
    // node.
    const auto root = static_cast<size_t>(sets.find(id));
    if (group_of_[root] == kNone) {
      group_of_[root] = static_cast<int32_t>(members_.size());
      members_.emplace_back();
      sources_.emplace_back();
    }
    group_of_[index] = group_of_[root];
    members_[static_cast<size_t>(group_of_[index])].push_back(id);
    if (!moved[index]) sources_[static_cast<size_t>(group_of_[index])].push_back(id);
  }
}

bool Groups::has_constant(const Graph& graph, int32_t group) const {
  const std::vector<ValueId>& ids = sources(group);
  return std::any_of(ids.begin(), ids.end(),
                     [&](ValueId id) { return graph.value(id).is_constant(); });
}

}  // namespace lathe
