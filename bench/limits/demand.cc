#include "limits/demand.h"

#include "graph/op.h"
#include "graph/summary.h"

namespace lathe::bench {
namespace {

/// Products of two bytes that one product of two codes takes. Weights of 4 bits count as bytes.
double byte_products(DType a, DType b) {
  const auto bytes = [](DType type) { return type == DType::u16 || type == DType::i16 ? 2 : 1; };
  return bytes(a) * bytes(b);
}

bool multiplies_weights(const Node& node) { return node.op == Op::conv2d || node.op == Op::linear; }

/// The node that multiplies with the weights of the output layer.
NodeId head_of(const Graph& graph) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.name != "logits") continue;
    const Node* node = graph.producer(output.value);
    while (node != nullptr && !multiplies_weights(*node)) {
      node = node->inputs.empty() ? nullptr : graph.producer(node->inputs[0]);
    }
    if (node != nullptr) return node->id;
  }
  return kNone;
}

}  // namespace

double Demand::prompt_products(int64_t tokens) const {
  const auto count = static_cast<double>(tokens);
  return count * body_products + head_products + attention_products * count * (count + 1.0) / 2.0;
}

double Demand::token_bytes(int64_t depth) const {
  return weight_bytes + cache_bytes_per_position * static_cast<double>(depth);
}

Demand demand_of(const Model& model) {
  const Graph& graph = model.graph(GraphRole::decode);
  const GraphSummary summary = summarize(graph);
  Demand demand;
  demand.weight_bytes = static_cast<double>(summary.weight_bytes);
  demand.cache_bytes_per_position = static_cast<double>(summary.kv_bytes_in) /
                                    static_cast<double>(graph.context() - graph.tokens_per_call());
  const NodeId head = head_of(graph);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::matmul && !multiplies_weights(node)) continue;
    const Value& a = graph.value(node.inputs[0]);
    const Value& b = graph.value(node.inputs[1]);
    const double each = byte_products(a.dtype, b.dtype);
    if (node.op != Op::matmul) {
      const double products = each * static_cast<double>(elements(b.shape));
      (id == head ? demand.head_products : demand.body_products) += products;
      continue;
    }
    // Queries times keys, or weights of attention times values: over the whole context.
    const double products =
        each * static_cast<double>(elements(graph.value(node.output()).shape) * a.shape.back());
    demand.attention_products +=
        products / static_cast<double>(graph.context() * graph.tokens_per_call());
  }
  return demand;
}

}  // namespace lathe::bench
