// Before:                                          After:
//   const %w : f32[64]                               const %w.add : f32[64]
//   %add = aten.add(%w) {other=1.0}                  %mul = aten.mul(%x, %w.add)
//   %mul = aten.mul(%x, %add)                        %mul_1 = aten.mul(%mul) {other=8.0}
//   const %scale : f32[]
//   %mul_1 = aten.mul(%mul, %scale)
//
// What is computed from constants alone is computed once, here. A constant of one number becomes an
// attribute.

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "graph/operators.h"
#include "graph/rewrite.h"
#include "passes/constant_value.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

class Folding {
 public:
  explicit Folding(Graph& graph) : graph_(graph), values_(graph), rewrite_(graph) {}

  void run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      if (values_.is_known(graph_.node(id).output())) continue;
      const size_t inputs = graph_.node(id).inputs.size();
      for (size_t i = 0; i < inputs; ++i) fold_input(id, i);
      take_number(id);
    }
    rewrite_.apply();
    graph_.remove_dead();
  }

 private:
  /// The constant that `value` is computed from, where there is one.
  const Value* source_of(ValueId value) const {
    if (graph_.value(value).is_constant()) return &graph_.value(value);
    const Node* node = graph_.producer(value);
    for (const ValueId input : node->inputs) {
      if (const Value* source = source_of(input)) return source;
    }
    return nullptr;
  }

  void fold_input(NodeId id, size_t index) {
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    const ValueId computed = inputs[index];
    const Node* node = graph_.producer(computed);
    if (node == nullptr || graph_.value(computed).dtype != DType::f32 ||
        !values_.is_known(computed)) {
      return;
    }
    const auto [place, added] = folded_.emplace(computed, kNone);
    if (added) {
      const Value* source = source_of(computed);
      if (source == nullptr) return;
      const std::string name = source->name + "." + std::string(rule_of(node->op).stem);
      const ConstantTensor numbers = *values_.find(computed);
      std::vector<float> floats(static_cast<size_t>(elements(numbers.shape)));
      std::memcpy(floats.data(), numbers.bytes.data(), numbers.bytes.size());
      place->second = graph_.add_constant(name, DType::f32, numbers.shape,
                                          float_constant(name, std::move(floats)));
    }
    if (place->second == kNone) return;
    inputs[index] = place->second;
    graph_.set_inputs(id, std::move(inputs));
  }

  void take_number(NodeId id) {
    const Node node = graph_.node(id);
    const bool scales =
        node.op == Op::add || node.op == Op::sub || node.op == Op::mul || node.op == Op::div;
    if (!scales || node.inputs.size() != 2) return;
    const Value& second = graph_.value(node.inputs[1]);
    if (!has_floats(graph_, node.inputs[1]) || !second.shape.empty()) return;
    float number = 0.0f;
    second.constant->floats->read(0, 1, &number);
    rewrite_.replace_node(id, {.op = node.op,
                               .inputs = {node.inputs[0]},
                               .attributes = {{"other", static_cast<double>(number)}}});
  }

  Graph& graph_;
  ConstantValues values_;
  Rewrite rewrite_;
  std::map<ValueId, ValueId> folded_;  // kNone: made of no constant
};

}  // namespace

void fold_constants(Graph& graph) { Folding(graph).run(); }

}  // namespace lathe
