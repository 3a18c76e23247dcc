#include "passes/match.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "graph/fixed_encodings.h"

namespace lathe {
namespace {

bool changes_shape_only(Op op) { return op == Op::view || op == Op::reshape; }

/// Adds the projections that read `value` to `found`; false where something else does.
bool collect_readers(const Graph& graph, const Users& users, ValueId value,
                     std::vector<NodeId>& found) {
  if (is_output(graph, value)) return false;
  for (const NodeId id : users[static_cast<size_t>(value)]) {
    const Node& reader = graph.node(id);
    const bool projects = reader.op == Op::linear || reader.op == Op::conv2d;
    if (projects && has_floats(graph, reader.inputs[1]) && reader.inputs[0] == value) {
      found.push_back(id);
    } else if (!(changes_shape_only(reader.op) || is_permute(reader, {0, 2, 3, 1})) ||
               !collect_readers(graph, users, reader.output(), found)) {
      return false;
    }
  }
  return true;
}

}  // namespace

const Node* producer_if(const Graph& graph, ValueId value, std::initializer_list<Op> ops) {
  const Node* node = graph.producer(value);
  if (node == nullptr || std::find(ops.begin(), ops.end(), node->op) == ops.end()) return nullptr;
  return node;
}

const Node* only_reader(const Graph& graph, const Users& users, ValueId value, Op op) {
  const std::vector<NodeId>& readers = users[static_cast<size_t>(value)];
  if (readers.size() != 1 || graph.node(readers.front()).op != op || is_output(graph, value)) {
    return nullptr;
  }
  return &graph.node(readers.front());
}

bool is_vector_constant(const Graph& graph, ValueId value) {
  return graph.value(value).is_constant() && graph.value(value).shape.size() == 1;
}

bool has_floats(const Graph& graph, ValueId value) {
  return graph.value(value).is_constant() && graph.value(value).constant->floats != nullptr;
}

bool is_output(const Graph& graph, ValueId value) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const GraphOutput& output) { return output.value == value; });
}

bool is_mask(const Graph& graph, ValueId value) {
  if (is_attention_mask(graph.value(value).name)) return true;
  const Node* producer = producer_if(graph, value, {Op::where});
  return producer != nullptr && producer->inputs.size() == 2 &&
         producer->attributes.real("other") <= attention_mask_low();
}

size_t dimension_of(const Graph& graph, const Node& node) {
  const auto rank = std::ssize(graph.value(node.inputs[0]).shape);
  const int64_t dim = node.attributes.integer("dim");
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

std::vector<int64_t> permutation_of(const Graph& graph, const Node& node) {
  if (node.op == Op::permute) return node.attributes.integers("dims");
  std::vector<int64_t> dims(graph.value(node.output()).shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  const auto at = [&](std::string_view name) -> int64_t& {
    const int64_t dim = node.attributes.integer(name);
    return dims[static_cast<size_t>(dim < 0 ? dim + std::ssize(dims) : dim)];
  };
  std::swap(at("dim0"), at("dim1"));
  return dims;
}

bool is_permute(const Node& node, std::initializer_list<int64_t> dims) {
  return node.op == Op::permute && node.attributes.integers("dims") == std::vector<int64_t>(dims);
}

const Node* projection_giving(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  while (node != nullptr && changes_shape_only(node->op)) node = graph.producer(node->inputs[0]);
  if (node == nullptr || node->op == Op::linear) return node;
  if (!is_permute(*node, {0, 3, 1, 2})) return nullptr;
  return producer_if(graph, node->inputs[0], {Op::conv2d});
}

const Node* projection_giving_heads(const Graph& graph, ValueId value) {
  const Node* transpose = producer_if(graph, value, {Op::transpose});
  if (transpose == nullptr || graph.value(value).shape.size() != 4 ||
      transpose->attributes.integer("dim0") != 1 || transpose->attributes.integer("dim1") != 2) {
    return nullptr;
  }
  return projection_giving(graph, transpose->inputs[0]);
}

std::optional<std::vector<NodeId>> projections_reading(const Graph& graph, const Users& users,
                                                       ValueId value) {
  std::vector<NodeId> found;
  if (!collect_readers(graph, users, value, found)) return std::nullopt;
  std::sort(found.begin(), found.end());
  return found;
}

Shape matrix_shape(const Graph& graph, ValueId weight) {
  const Shape& shape = graph.value(weight).shape;
  return {shape.at(0), shape.at(1)};
}

void replace_weight(Graph& graph, NodeId node, size_t input,
                    std::shared_ptr<const FloatSource> floats, const char* what) {
  std::vector<ValueId> inputs = graph.node(node).inputs;
  const Value old = graph.value(inputs[input]);
  auto constant = std::make_shared<Constant>();
  constant->name = graph.node(node).module + "." + what;
  if (old.constant->name.starts_with(constant->name)) constant->name = old.constant->name;
  constant->floats = std::move(floats);
  constant->byte_count = old.constant->byte_count;
  const std::string name = constant->name;
  inputs[input] = graph.add_constant(name, old.dtype, old.shape, std::move(constant));
  graph.set_inputs(node, std::move(inputs));
}

}  // namespace lathe
