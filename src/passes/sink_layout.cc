// Before:                                           After:
//   %permute = aten.permute(%gate) {dims=...}         %silu = aten.silu(%gate)
//   %permute_1 = aten.permute(%up) {dims=...}         %mul = aten.mul(%silu, %up)
//   %silu = aten.silu(%permute)                       %permute_2 = aten.permute(%mul) {dims=...}
//   %mul = aten.mul(%silu, %permute_1)
//
// The elementwise nodes keep their ids and those of what they compute: the same numbers, laid out
// in another way.

#include <utility>
#include <vector>

#include "graph/rewrite.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool is_elementwise(Op op) {
  switch (op) {
    case Op::add:
    case Op::div:
    case Op::gelu:
    case Op::mul:
    case Op::neg:
    case Op::sigmoid:
    case Op::silu:
    case Op::sub:
    case Op::tanh:
      return true;
    default:
      return false;
  }
}

bool is_layout(Op op) { return op == Op::permute || op == Op::reshape || op == Op::view; }

class Sinking {
 public:
  explicit Sinking(Graph& graph) : graph_(graph) {
    for (const std::vector<NodeId>& readers : graph.users()) readers_.push_back(readers.size());
    for (const GraphOutput& output : graph.outputs()) ++readers_[static_cast<size_t>(output.value)];
  }

  void run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      if (!is_elementwise(graph_.node(id).op)) continue;
      while (sink(id)) {
      }
    }
    graph_.remove_dead();
  }

 private:
  /// The layout change that gives a value which nothing else reads.
  const Node* sole_layout(ValueId value) const {
    const Node* layout = graph_.producer(value);
    const bool found =
        layout != nullptr && is_layout(layout->op) && readers_[static_cast<size_t>(value)] == 1;
    return found ? layout : nullptr;
  }

  bool sink(NodeId id) {
    const Node node = graph_.node(id);
    std::vector<ValueId> sources;
    const Node* first = nullptr;
    for (const ValueId input : node.inputs) {
      const Node* layout = sole_layout(input);
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
    // The sources lose a reader, the layout change, and gain one, this node.
    graph_.set_inputs_and_shapes(id, std::move(sources));
    const ValueId moved = graph_.insert_after(id, std::move(spec));
    take_type(graph_, moved, node.output());
    graph_.replace_uses(node.output(), moved, graph_.value(moved).producer);
    readers_.resize(static_cast<size_t>(graph_.value_count()));
    readers_[static_cast<size_t>(moved)] =
        std::exchange(readers_[static_cast<size_t>(node.output())], 1);
    return true;
  }

  Graph& graph_;
  std::vector<size_t> readers_;  // by value: nodes and outputs
};

}  // namespace

void sink_layout(Graph& graph) { Sinking(graph).run(); }

}  // namespace lathe
