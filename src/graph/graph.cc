#include "graph/graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/operators.h"
#include "support/error.h"

namespace lathe {

const Node* Graph::producer(ValueId id) const {
  const NodeId node_id = value(id).producer;
  return node_id == kNone ? nullptr : &node(node_id);
}

ValueId Graph::find(std::string_view name) const {
  for (size_t i = values_.size(); i-- > 0;) {
    if (values_[i].name == name) return static_cast<ValueId>(i);
  }
  return kNone;
}

std::vector<std::vector<NodeId>> Graph::users() const {
  std::vector<std::vector<NodeId>> users(values_.size());
  for (const NodeId id : order_) {
    for (const ValueId input : node(id).inputs) {
      std::vector<NodeId>& readers = users[static_cast<size_t>(input)];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
  return users;
}

IoContract Graph::io() const {
  const auto describe = [&](std::string name, ValueId id) {
    const Value& v = value(id);
    return IoTensor{std::move(name), v.dtype, v.shape, v.encoding};
  };
  IoContract contract;
  contract.role = role_;
  contract.tokens_per_call = tokens_per_call_;
  contract.context = context_;
  contract.window = window_;
  for (const ValueId id : inputs_) contract.inputs.push_back(describe(value(id).name, id));
  for (const GraphOutput& output : outputs_) {
    contract.outputs.push_back(describe(output.name, output.value));
  }
  return contract;
}

ValueId Graph::new_value(std::string name, DType dtype, Shape shape) {
  Value v;
  v.name = std::move(name);
  v.dtype = dtype;
  v.shape = std::move(shape);
  values_.push_back(std::move(v));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_input(std::string name, DType dtype, Shape shape) {
  const ValueId id = new_value(std::move(name), dtype, std::move(shape));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string name, DType dtype, Shape shape,
                            std::shared_ptr<const Constant> constant) {
  const ValueId id = new_value(std::move(name), dtype, std::move(shape));
  values_.back().constant = std::move(constant);
  return id;
}

std::string Graph::free_name(Op op) {
  const std::string stem(rule_of(op).stem);
  int& used = names_used_[static_cast<size_t>(op)];
  // torch.export keeps clear of Python's own names: its first pow is pow_1.
  const bool taken = op == Op::and_ || op == Op::max || op == Op::pow || op == Op::slice;
  if (used == 0 && taken) used = 1;
  const int number = used++;
  if (number == 0) return stem;
  return stem + "_" + std::to_string(number);
}

ValueId Graph::make(NodeSpec spec, size_t position) {
  const OperatorRule& rule = rule_of(spec.op);
  Node node;
  node.id = static_cast<NodeId>(nodes_.size());
  node.op = spec.op;
  node.module = std::move(spec.module);
  node.inputs = std::move(spec.inputs);
  node.attributes = std::move(spec.attributes);

  const int count = static_cast<int>(node.inputs.size());
  if (count < rule.min_inputs || (rule.max_inputs >= 0 && count > rule.max_inputs)) {
    fail({.what = "wrong number of inputs",
          .where = std::string(rule.name),
          .found = std::to_string(count)});
  }
  std::vector<TensorType> types;
  for (const ValueId input : node.inputs) {
    types.push_back({value(input).dtype, value(input).shape});
  }
  std::string name = spec.name.empty() ? free_name(spec.op) : std::move(spec.name);
  std::vector<TensorType> results = rule.infer(node, types);
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueId output = new_value(i == 0 ? name : name + "." + std::to_string(i),
                                     results[i].dtype, std::move(results[i].shape));
    values_.back().producer = node.id;
    node.outputs.push_back(output);
  }
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position), node.id);
  nodes_.push_back(std::move(node));
  return nodes_.back().output();
}

ValueId Graph::append(NodeSpec spec) { return make(std::move(spec), order_.size()); }

size_t Graph::position_of(NodeId node) const {
  return static_cast<size_t>(std::find(order_.begin(), order_.end(), node) - order_.begin());
}

ValueId Graph::insert_before(NodeId where, NodeSpec spec) {
  return make(std::move(spec), position_of(where));
}

ValueId Graph::insert_after(NodeId where, NodeSpec spec) {
  return make(std::move(spec), position_of(where) + 1);
}

void Graph::add_output(std::string name, ValueId value) {
  outputs_.push_back({std::move(name), value});
}

void Graph::replace_uses(ValueId from, ValueId to, NodeId except) {
  for (const NodeId id : order_) {
    if (id == except) continue;
    std::vector<ValueId>& inputs = nodes_[static_cast<size_t>(id)].inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
  }
  for (GraphOutput& output : outputs_) {
    if (output.value == from) output.value = to;
  }
}

void Graph::replace_uses(const std::vector<std::pair<ValueId, ValueId>>& replacements) {
  std::vector<ValueId> read(values_.size());  // per value: what is read instead
  std::iota(read.begin(), read.end(), 0);
  for (const auto& [from, to] : replacements) read[static_cast<size_t>(from)] = to;
  const auto resolve = [&](ValueId& id) {
    while (read[static_cast<size_t>(id)] != id) id = read[static_cast<size_t>(id)];
  };
  for (const NodeId id : order_) {
    for (ValueId& input : nodes_[static_cast<size_t>(id)].inputs) resolve(input);
  }
  for (GraphOutput& output : outputs_) resolve(output.value);
}

void Graph::set_inputs(NodeId node, std::vector<ValueId> inputs) {
  nodes_[static_cast<size_t>(node)].inputs = std::move(inputs);
}

void Graph::set_inputs_and_shapes(NodeId id, std::vector<ValueId> inputs) {
  Node& changed = nodes_[static_cast<size_t>(id)];
  changed.inputs = std::move(inputs);
  std::vector<TensorType> types;
  for (const ValueId input : changed.inputs) {
    types.push_back({value(input).dtype, value(input).shape});
  }
  std::vector<TensorType> results = rule_of(changed.op).infer(changed, types);
  for (size_t i = 0; i < results.size(); ++i) {
    values_[static_cast<size_t>(changed.outputs[i])].shape = std::move(results[i].shape);
  }
}

void Graph::set_value_type(ValueId id, DType dtype, std::optional<Encoding> encoding) {
  Value& v = values_[static_cast<size_t>(id)];
  v.dtype = dtype;
  v.encoding = std::move(encoding);
}

void Graph::set_spec(ValueId id, std::optional<QuantSpec> spec) {
  values_[static_cast<size_t>(id)].spec = spec;
}

void Graph::set_read_as(ValueId id, std::optional<QuantSpec> spec) {
  values_[static_cast<size_t>(id)].read_as = spec;
}

void Graph::set_constant(ValueId id, std::shared_ptr<const Constant> constant) {
  values_[static_cast<size_t>(id)].constant = std::move(constant);
}

void Graph::rename(ValueId id, std::string name) {
  values_[static_cast<size_t>(id)].name = std::move(name);
}

void Graph::remove_dead() {
  std::vector<bool> needed(values_.size(), false);
  for (const GraphOutput& output : outputs_) needed[static_cast<size_t>(output.value)] = true;
  std::vector<NodeId> alive;
  for (size_t i = order_.size(); i-- > 0;) {
    const Node& n = node(order_[i]);
    const bool used = std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId output) {
      return needed[static_cast<size_t>(output)];
    });
    if (!used) continue;
    for (const ValueId input : n.inputs) needed[static_cast<size_t>(input)] = true;
    alive.push_back(n.id);
  }
  std::reverse(alive.begin(), alive.end());
  order_ = std::move(alive);
  std::erase_if(inputs_, [&](ValueId id) { return !needed[static_cast<size_t>(id)]; });
}

void Graph::restore_order() {
  std::vector<NodeId> order;
  std::vector<bool> placed(nodes_.size(), false);
  std::vector<bool> listed(nodes_.size(), false);
  for (const NodeId id : order_) listed[static_cast<size_t>(id)] = true;
  std::vector<NodeId> stack;
  for (const NodeId root : order_) {
    stack.push_back(root);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      if (placed[static_cast<size_t>(id)]) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for (const ValueId input : node(id).inputs) {
        const NodeId source = value(input).producer;
        if (source == kNone || placed[static_cast<size_t>(source)] ||
            !listed[static_cast<size_t>(source)]) {
          continue;
        }
        stack.push_back(source);
        ready = false;
      }
      if (!ready) continue;
      placed[static_cast<size_t>(id)] = true;
      order.push_back(id);
      stack.pop_back();
    }
  }
  order_ = std::move(order);
}

}  // namespace lathe
