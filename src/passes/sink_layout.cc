// Before:                                           After:
//   %permute = aten.permute(%gate) {dims=...}         %silu = aten.silu(%gate)
//   %permute_1 = aten.permute(%up) {dims=...}         %mul = aten.mul(%silu, %up)
//   %silu = aten.silu(%permute)                       %permute_2 = aten.permute(%mul) {dims=...}
//   %mul = aten.mul(%silu, %permute_1)
//
// The elementwise nodes keep their ids and those of what they compute: the same numbers, laid out
// in another way.

#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool is_elementwise(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::neg:
    case Op::sigmoid:
    case Op::silu:
    case Op::sub:
      return true;
    default:
      return false;
  }
}

bool is_layout(Op op) { return op == Op::permute || op == Op::reshape || op == Op::view; }

class Sinking {
 public:
  explicit Sinking(Graph& graph) : graph_(graph) {}

  void run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      if (!is_elementwise(graph_.node(id).op)) continue;
      while (sink(id)) {
      }
    }
  }

 private:
  /// The layout change in front of an input, where this node alone reads it.
  const Node* layout_before(const Node& node, ValueId input) const {
    const Node* layout = graph_.producer(input);
    if (layout == nullptr || !is_layout(layout->op) || is_output(graph_, input)) return nullptr;
    for (const NodeId id : graph_.order()) {
      const std::vector<ValueId>& read = graph_.node(id).inputs;
      if (id != node.id && std::find(read.begin(), read.end(), input) != read.end()) return nullptr;
    }
    return layout;
  }

  bool sink(NodeId id) {
    const Node node = graph_.node(id);
    std::vector<ValueId> sources;
    const Node* first = nullptr;
    for (const ValueId input : node.inputs) {
      const Node* layout = layout_before(node, input);
      if (layout == nullptr) return false;
      if (first == nullptr) first = layout;
      const ValueId source = layout->inputs[0];
      if (layout->op != first->op || layout->attributes != first->attributes ||
          graph_.value(source).shape != graph_.value(first->inputs[0]).shape) {
        return false;
      }
      sources.push_back(source);
    }
    NodeSpec spec{.op = first->op,
                  .inputs = {node.output()},
                  .attributes = first->attributes,
                  .module = first->module};
    graph_.set_inputs_and_shapes(id, std::move(sources));
    const ValueId moved = graph_.insert_after(id, std::move(spec));
    take_type(graph_, moved, node.output());
    graph_.replace_uses(node.output(), moved, graph_.value(moved).producer);
    graph_.remove_dead();
    return true;
  }

  Graph& graph_;
};

}  // namespace

void sink_layout(Graph& graph) { Sinking(graph).run(); }

}  // namespace lathe
