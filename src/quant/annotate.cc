#include "quant/annotate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "graph/operators.h"
#include "support/error.h"

namespace lathe {
namespace {

bool is_unit(const Graph& graph, ValueId id) {
  const Node* producer = graph.producer(id);
  return producer != nullptr && rule_of(producer->op).encoding == EncodingRule::unit;
}

bool is_cache(const Value& value) {
  return value.name.starts_with("k_cache_") || value.name.starts_with("v_cache_");
}

bool is_mask(const Value& value) {
  return value.name == "attention_mask" || value.name == "window_attention_mask";
}

bool is_second_operand(const Node& node, size_t index) {
  return node.op == Op::matmul && index == 1;
}

/// By group: whether it holds keys or values.
std::vector<bool> find_keys_and_values(const Graph& graph, const Groups& groups) {
  std::vector<bool> found(static_cast<size_t>(groups.count()), false);
  const auto mark = [&](ValueId id) { found[static_cast<size_t>(groups.of(id))] = true; };
  const auto is_activation = [&](ValueId id) {
    const int32_t group = groups.of(id);
    if (group == kNone) return false;
    const std::vector<ValueId>& sources = groups.sources(group);
    return std::none_of(sources.begin(), sources.end(),
                        [&](ValueId source) { return graph.value(source).is_constant(); });
  };
  for (const ValueId id : graph.inputs()) {
    if (is_cache(graph.value(id)) && groups.of(id) != kNone) mark(id);
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::matmul) continue;
    if (is_activation(node.inputs[0]) && is_activation(node.inputs[1])) mark(node.inputs[1]);
  }
  return found;
}

/// cos and sin: rows of a constant table that are picked by position and only ever multiplied.
/// (A table of learned positions would be added.)
bool is_rotary(const Graph& graph, const Groups& groups, int32_t group,
               const std::vector<std::vector<NodeId>>& users) {
  bool by_position = false;
  for (const ValueId id : groups.members(group)) {
    for (const NodeId user : users[static_cast<size_t>(id)]) {
      const Node& node = graph.node(user);
      if (node.op == Op::embedding && node.inputs[0] == id) {
        by_position = by_position || graph.value(node.inputs[1]).name == "position";
      } else if (node.op != Op::mul && !moves_codes(graph, node, 0)) {
        return false;
      }
    }
  }
  return by_position;
}

/// Gives every weight and bias that is read in more than one place a value for each place: their
/// codes differ from those of an activation, and a bias counts in steps of its own product.
void separate_weights(Graph& graph) {
  std::vector<int> uses(static_cast<size_t>(graph.value_count()), 0);
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) ++uses[static_cast<size_t>(input)];
  }
  for (const NodeId id : graph.order()) {
    std::vector<ValueId> inputs = graph.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_weight(graph.node(id), i) || uses[static_cast<size_t>(inputs[i])] == 1) continue;
      const Value shared = graph.value(inputs[i]);
      std::string name = shared.name + ".weight_of_" + std::to_string(id);
      inputs[i] = graph.add_constant(std::move(name), shared.dtype, shared.shape, shared.constant);
    }
    if (inputs != graph.node(id).inputs) graph.set_inputs(id, std::move(inputs));
  }
}

/// Inserts a requantize node directly after the producer of `id`. Readers that belong to the group
/// of `id` read the new value; the others keep the numbers as they were computed.
void requantize_after_producer(Graph& graph, ValueId id) {
  const Node& producer = *graph.producer(id);
  const ValueId requantized = graph.insert_after(
      producer.id, {.op = Op::requantize, .inputs = {id}, .module = producer.module});
  for (const NodeId reader : graph.order()) {
    std::vector<ValueId> inputs = graph.node(reader).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Node& node = graph.node(reader);
      if (inputs[i] == id && (moves_codes(graph, node, i) || is_second_operand(node, i))) {
        inputs[i] = requantized;
      }
    }
    if (inputs != graph.node(reader).inputs) graph.set_inputs(reader, std::move(inputs));
  }
  std::vector<GraphOutput> outputs = graph.outputs();
  for (GraphOutput& output : outputs) {
    if (output.value == id) output.value = requantized;
  }
  graph.set_outputs(std::move(outputs));
}

/// The values after whose producers a requantize node belongs, in execution order.
std::vector<ValueId> find_encoding_changes(const Graph& graph, const Recipe& recipe) {
  const Groups groups(graph);
  const std::vector<bool> keys_and_values = find_keys_and_values(graph, groups);
  const bool kv_as_activations = recipe.kv_bits == 16 && recipe.activation == DType::u16;
  std::vector<ValueId> changes;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const int32_t group = groups.of(node.output());
    if (group == kNone || node.op == Op::requantize) continue;
    const std::vector<ValueId>& sources = groups.sources(group);
    if (!std::binary_search(sources.begin(), sources.end(), node.output())) continue;
    const bool unit = is_unit(graph, node.output());
    const bool changes_encoding =
        keys_and_values[static_cast<size_t>(group)]
            ? !kv_as_activations || unit
            : unit && !std::all_of(sources.begin(), sources.end(),
                                   [&](ValueId source) { return is_unit(graph, source); });
    if (changes_encoding) changes.push_back(node.output());
  }
  return changes;
}

GroupKind kind_of(const Graph& graph, const Groups& groups, int32_t group, bool keys_or_values,
                  const std::vector<std::vector<NodeId>>& users) {
  const std::vector<ValueId>& sources = groups.sources(group);
  for (const ValueId source : sources) {
    if (!is_mask(graph.value(source))) continue;
    if (sources.size() > 1 || keys_or_values) {
      fail({.what = "an attention mask shares its encoding with other values",
            .where = graph.value(source).name,
            .found = graph.value(sources.back()).name});
    }
    return GroupKind::mask;
  }
  if (keys_or_values) return GroupKind::keys_or_values;
  if (is_unit(graph, sources.front())) return GroupKind::unit;
  if (is_rotary(graph, groups, group, users)) return GroupKind::rotary;
  return GroupKind::activation;
}

}  // namespace

Annotation annotate(Graph& graph, const Recipe& recipe) {
  separate_weights(graph);
  for (const ValueId id : find_encoding_changes(graph, recipe)) {
    requantize_after_producer(graph, id);
  }

  Annotation annotation{Groups(graph), {}};
  const std::vector<bool> keys_and_values = find_keys_and_values(graph, annotation.groups);
  const auto users = graph.users();
  for (int32_t group = 0; group < annotation.groups.count(); ++group) {
    annotation.kinds.push_back(kind_of(graph, annotation.groups, group,
                                       keys_and_values[static_cast<size_t>(group)], users));
  }
  return annotation;
}

}  // namespace lathe
