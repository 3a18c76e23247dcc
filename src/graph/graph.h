#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/attributes.h"
#include "graph/constant.h"
#include "graph/encoding.h"
#include "graph/io_contract.h"
#include "graph/op.h"
#include "graph/quant_spec.h"
#include "support/tensor.h"

namespace lathe {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr int32_t kNone = -1;

/// A tensor in a graph: an input, a constant or what a node gives.
struct Value {
  std::string name;  ///< unique in the graph
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Encoding> encoding;  ///< set where `dtype` holds codes
  std::optional<QuantSpec> spec;     ///< float graphs, once annotated: what it will be
  /// Annotated: what those who move it or multiply by it want instead; a requantize node between
  /// them and this value settles it.
  std::optional<QuantSpec> read_as;
  std::shared_ptr<const Constant> constant;
  NodeId producer = kNone;

  bool is_constant() const { return constant != nullptr; }
};

/// An operator applied to values. `module` is the path of the Hugging Face module it came from
/// ("model.layers.0.self_attn.q_proj"): recipes match on it, and every rewrite keeps it.
struct Node {
  NodeId id = kNone;
  Op op = Op::alias;
  std::string module;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;

  ValueId output() const { return outputs.front(); }
};

/// What a caller gives to make a node; the rest follows from the operator's rules.
struct NodeSpec {
  Op op = Op::alias;
  std::vector<ValueId> inputs = {};
  Attributes attributes = {};
  std::string module = {};
  std::string name = {};  ///< of the output; empty: the operator's name with the next free number
};

/// A named result of the graph.
struct GraphOutput {
  std::string name;
  ValueId value = kNone;
};

/// A static graph: nodes in execution order over values, all shapes known. Built by frontends,
/// rewritten by passes, run by executors. A copy is cheap beside the weights, which are shared.
///
/// Ids are handed out in order of creation and never reused, so graphs of different roles that the
/// same code built have the same ids for the same things.
class Graph {
 public:
  /// `window`: IoContract::window.
  Graph(GraphRole role, int64_t tokens_per_call, int64_t context, int64_t window = 0)
      : role_(role), tokens_per_call_(tokens_per_call), context_(context), window_(window) {}

  GraphRole role() const { return role_; }
  int64_t tokens_per_call() const { return tokens_per_call_; }  ///< AR
  int64_t context() const { return context_; }                  ///< CL
  int64_t window() const { return window_; }                    ///< W of sliding layers, or 0

  // --- reading
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  /// Node ids in execution order.
  const std::vector<NodeId>& order() const { return order_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  /// Ids below this one have been handed out (some may be dead).
  ValueId value_count() const { return static_cast<ValueId>(values_.size()); }
  NodeId node_count() const { return static_cast<NodeId>(nodes_.size()); }
  /// The node that gives a value; null for inputs and constants.
  const Node* producer(ValueId id) const;
  /// The value of that name, or kNone.
  ValueId find(std::string_view name) const;
  /// For each value the nodes that read it, in execution order (a node that reads it twice is there
  /// once). Valid until the next change.
  std::vector<std::vector<NodeId>> users() const;
  /// Names, shapes, types and encodings at the boundary.
  IoContract io() const;

  // --- building
  /// For a graph that takes over names of another: new names go on where that one's end.
  void continue_names_of(const Graph& other) { names_used_ = other.names_used_; }
  ValueId add_input(std::string name, DType dtype, Shape shape);
  ValueId add_constant(std::string name, DType dtype, Shape shape,
                       std::shared_ptr<const Constant> constant);
  /// Appends a node. Shapes and types come from the operator's rule; throws Error where it refuses.
  ValueId append(NodeSpec spec);
  void add_output(std::string name, ValueId value);

  // --- rewriting
  /// As append, but executed directly before node `where`.
  ValueId insert_before(NodeId where, NodeSpec spec);
  /// As append, but executed directly after node `where`.
  ValueId insert_after(NodeId where, NodeSpec spec);
  /// Every node (but `except`) and every output that reads `from` reads `to` instead.
  void replace_uses(ValueId from, ValueId to, NodeId except = kNone);
  /// Many at once, in one sweep: first of each pair becomes second, which another pair may name.
  void replace_uses(const std::vector<std::pair<ValueId, ValueId>>& replacements);
  void set_window(int64_t window) { window_ = window; }
  void set_inputs(NodeId node, std::vector<ValueId> inputs);
  /// As set_inputs, and the outputs take the shapes that follow. Their readers are the caller's
  /// business. Throws Error where the operator's rule refuses.
  void set_inputs_and_shapes(NodeId node, std::vector<ValueId> inputs);
  /// The same outputs or others; `inputs` is a permutation of inputs().
  void set_outputs(std::vector<GraphOutput> outputs) { outputs_ = std::move(outputs); }
  void set_input_order(std::vector<ValueId> inputs) { inputs_ = std::move(inputs); }
  /// `order` is a permutation of order().
  void set_order(std::vector<NodeId> order) { order_ = std::move(order); }
  void set_value_type(ValueId id, DType dtype, std::optional<Encoding> encoding);
  void set_spec(ValueId id, std::optional<QuantSpec> spec);
  void set_read_as(ValueId id, std::optional<QuantSpec> spec);
  void set_constant(ValueId id, std::shared_ptr<const Constant> constant);
  void rename(ValueId id, std::string name);
  /// Removes nodes and inputs that no output needs.
  void remove_dead();
  /// Moves every node directly before its first reader where it is executed later than that.
  void restore_order();

 private:
  ValueId new_value(std::string name, DType dtype, Shape shape);
  ValueId make(NodeSpec spec, size_t position);
  size_t position_of(NodeId node) const;
  std::string free_name(Op op);

  GraphRole role_;
  int64_t tokens_per_call_;
  int64_t context_;
  int64_t window_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<GraphOutput> outputs_;
  std::vector<int> names_used_ = std::vector<int>(kOpCount, 0);  // per operator, for free_name
};

}  // namespace lathe
