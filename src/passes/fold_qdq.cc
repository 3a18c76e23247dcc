// Before:                                              After:
//   %dq = lathe.dequantize(%x) : f32[1, 4]               %mul = aten.mul(%x) {other=0.5}
//   %mul = aten.mul(%dq) {other=0.5} : f32[1, 4]                        : u16[1, 4]<0.001, 0>
//   %q = lathe.quantize(%mul) {dtype=u16}                %requantize = lathe.requantize(%mul)
//            : u16[1, 4]<0.001, 0>                                      : u8[1, 4]<0.25, 128>
//   %dq_1 = lathe.dequantize(%q) : f32[1, 4]
//   %q_1 = lathe.quantize(%dq_1) {dtype=u8}
//            : u8[1, 4]<0.25, 128>
//
// What a float operator between dequantize and quantize computes is by definition what the operator
// on codes gives (docs/numerics.md), so this changes no result.

#include <numeric>
#include <utility>

#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

class Folding {
 public:
  explicit Folding(Graph& graph) : graph_(graph), users_(graph.users()), same_(count()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  void run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      const Node& node = graph_.node(id);
      if (node.op == Op::dequantize) {
        codes_.resize(count(), kNone);
        const ValueId codes = now(node.inputs[0]);
        codes_[static_cast<size_t>(node.output())] = codes;
        graph_.set_inputs(id, {codes});
      } else if (node.op == Op::quantize) {
        fold_quantize(id);
      } else {
        fold_operator(id);
      }
    }
    std::vector<GraphOutput> outputs = graph_.outputs();
    for (GraphOutput& output : outputs) output.value = now(output.value);
    graph_.set_outputs(std::move(outputs));
    graph_.remove_dead();
  }

 private:
  size_t count() const { return static_cast<size_t>(graph_.value_count()); }

  /// What stands for a value by now.
  ValueId now(ValueId id) const {
    const auto index = static_cast<size_t>(id);
    return index < same_.size() ? same_[index] : id;
  }

  /// The codes that a float value was dequantized from, or kNone.
  ValueId codes_of(ValueId id) const {
    const auto index = static_cast<size_t>(id);
    return index < codes_.size() ? codes_[index] : kNone;
  }

  void fold_quantize(NodeId id) {
    const Node node = graph_.node(id);
    const ValueId codes = codes_of(node.inputs[0]);
    const Value result = graph_.value(node.output());
    if (codes != kNone) {
      if (graph_.value(codes).encoding == result.encoding) {
        same_[static_cast<size_t>(node.output())] = codes;
        return;
      }
      const ValueId changed = graph_.insert_before(
          id, {.op = Op::requantize, .inputs = {codes}, .module = node.module});
      graph_.set_value_type(changed, result.dtype, result.encoding);
      same_[static_cast<size_t>(node.output())] = changed;
      return;
    }
    const Node* source = graph_.producer(node.inputs[0]);
    const bool folds = source != nullptr && source->op != Op::quantize &&
                       users_[static_cast<size_t>(node.inputs[0])].size() == 1 &&
                       !is_output(graph_, node.inputs[0]);
    if (!folds) return;
    graph_.set_value_type(node.inputs[0], result.dtype, result.encoding);
    same_[static_cast<size_t>(node.output())] = node.inputs[0];
  }

  /// An operator reads codes where its result becomes codes, or is none (a comparison).
  void fold_operator(NodeId id) {
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    for (ValueId& input : inputs) {
      const ValueId codes = codes_of(input);
      input = codes == kNone ? now(input) : codes;
    }
    graph_.set_inputs(id, std::move(inputs));
  }

  Graph& graph_;
  Users users_;
  std::vector<ValueId> same_;   // by value: what stands for it
  std::vector<ValueId> codes_;  // by value: what it was dequantized from
};

}  // namespace

void fold_qdq(Graph& graph) { Folding(graph).run(); }

}  // namespace lathe
