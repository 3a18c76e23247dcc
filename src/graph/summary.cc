#include "graph/summary.h"

#include <algorithm>
#include <numeric>

#include "graph/operators.h"

namespace lathe {
namespace {

/// Whether the output is the input's memory as it lies.
bool renames_only(Op op) {
  switch (op) {
    case Op::alias:
    case Op::dropout:
    case Op::reshape:
    case Op::unsqueeze:
    case Op::view:
      return true;
    default:
      return false;
  }
}

/// Bytes of input `index`, a constant, that the node reads in one call.
int64_t bytes_read(const Graph& graph, const Node& node, size_t index) {
  const Value& table = graph.value(node.inputs[index]);
  const int64_t all = table.constant->byte_count;
  if (node.op != Op::embedding || index != 0 || table.shape[0] == 0) return all;
  const int64_t rows = elements(graph.value(node.inputs[1]).shape);
  return std::min(all, all / table.shape[0] * rows);
}

int64_t weight_bytes(const Graph& graph) {
  std::map<std::string, int64_t> by_constant;  // the most that one node reads of it
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = graph.value(node.inputs[i]);
      if (!value.is_constant()) continue;
      int64_t& bytes = by_constant[value.constant->name];
      bytes = std::max(bytes, bytes_read(graph, node, i));
    }
  }
  return std::accumulate(by_constant.begin(), by_constant.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

int64_t activation_bytes(const Graph& graph) {
  std::vector<bool> counted(static_cast<size_t>(graph.value_count()), false);
  int64_t bytes = 0;
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) {
      const Node* producer = graph.producer(input);
      if (producer == nullptr || renames_only(producer->op)) continue;
      if (counted[static_cast<size_t>(input)]) continue;
      counted[static_cast<size_t>(input)] = true;
      bytes += byte_size(graph.value(input).dtype, graph.value(input).shape);
    }
  }
  return bytes;
}

/// Bytes of a cache input if its layer saw the whole context: in pair form the slots are the last
/// axis of keys and the one before it of values. A whole cache has the context anyway.
int64_t full_context_bytes(const IoContract& io, const IoTensor& cache) {
  Shape shape = cache.shape;
  const bool key = cache.name.starts_with("k_cache_");
  const bool pair = (key || cache.name.starts_with("v_cache_")) && shape.size() == 4;
  if (pair) shape[key ? 3 : 2] = io.context - io.tokens_per_call;
  return byte_size(cache.dtype, shape);
}

}  // namespace

OperatorKind kind_of(Op op) {
  switch (op) {
    case Op::conv2d:
    case Op::hadamard:
    case Op::linear:
    case Op::matmul:
      return OperatorKind::products;
    case Op::dequantize:
    case Op::quantize:
    case Op::requantize:
    case Op::to:
      return OperatorKind::casts;
    case Op::arange:
    case Op::zeros:
      return OperatorKind::making;
    default:
      return is_movement(op) ? OperatorKind::movement : OperatorKind::elementwise;
  }
}

std::string_view name_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::products:
      return "matrix products";
    case OperatorKind::elementwise:
      return "elementwise";
    case OperatorKind::movement:
      return "movement";
    case OperatorKind::casts:
      return "casts";
    case OperatorKind::making:
      return "making";
  }
  return "";
}

int64_t multiply_adds(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::conv2d:
    case Op::linear:
      return elements(graph.value(node.output()).shape) * graph.value(node.inputs[1]).shape[1];
    case Op::matmul:
      return elements(graph.value(node.output()).shape) * graph.value(node.inputs[0]).shape.back();
    default:
      return 0;
  }
}

int64_t GraphSummary::operator_count() const {
  return std::accumulate(kinds.begin(), kinds.end(), int64_t{0});
}

GraphSummary summarize(const Graph& graph) {
  GraphSummary summary;
  for (const NodeId id : graph.order()) {
    const Op op = graph.node(id).op;
    ++summary.operators[std::string(rule_of(op).name)];
    ++summary.kinds[static_cast<size_t>(kind_of(op))];
  }
  summary.weight_bytes = weight_bytes(graph);
  summary.activation_bytes = activation_bytes(graph);
  const IoContract io = graph.io();
  const auto add = [&](const std::vector<IoTensor>& tensors, int64_t& kv_bytes) {
    for (const IoTensor& tensor : tensors) {
      (holds_cache(tensor.name) ? kv_bytes : summary.boundary_bytes) +=
          byte_size(tensor.dtype, tensor.shape);
    }
  };
  add(io.inputs, summary.kv_bytes_in);
  add(io.outputs, summary.kv_bytes_out);
  for (const IoTensor& tensor : io.inputs) {
    if (holds_cache(tensor.name)) summary.kv_bytes_full_context += full_context_bytes(io, tensor);
  }
  return summary;
}

}  // namespace lathe
