// Before:                                       After:
//   %q = rope(linear(%h, Wq))                     %q = rope(linear(%h, diag(f) Wq))
//   %k = rope(linear(%h, Wk))                     %k = rope(linear(%h, diag(1/f) Wk))
//   %s = matmul(%q, concat(past, %k))             %s = matmul(%q, concat(past, %k))

#include "passes/equalize_keys.h"

#include <algorithm>
#include <string>

#include "passes/match.h"
#include "passes/scaled_weights.h"

namespace lathe {
namespace {

/// What gives the heads in front of a rotary embedding, and how many of their dimensions rotate.
struct RotatedHeads {
  const Node* node = nullptr;  ///< a projection or a norm; null: something else stands there
  int64_t channels = 0;        ///< that its weights scale: all of all heads, or those of every head
  int64_t rotating = 0;
};

/// The norm that gives `value` [1, heads, AR, D], of each head or of all together; else null.
const Node* norm_giving_heads(const Graph& graph, ValueId value) {
  while (const Node* mover = producer_if(graph, value, {Op::transpose, Op::view, Op::reshape})) {
    value = mover->inputs[0];
  }
  return producer_if(graph, value, {Op::rms_norm});
}

/// Of the half-split form, cat(sub(mul(slice(x), cos), ...), ...), x the heads.
RotatedHeads heads_of(const Graph& graph, ValueId rotated) {
  // R3 turns queries and keys alike: what one is multiplied by, the other is divided by, before it.
  if (const Node* r3 = producer_if(graph, rotated, {Op::hadamard})) rotated = r3->inputs[0];
  const Node* cat = producer_if(graph, rotated, {Op::cat});
  const Node* low = cat == nullptr ? nullptr : producer_if(graph, cat->inputs[0], {Op::sub});
  const Node* product = low == nullptr ? nullptr : producer_if(graph, low->inputs[0], {Op::mul});
  const Node* half =
      product == nullptr ? nullptr : producer_if(graph, product->inputs[0], {Op::slice});
  if (half == nullptr) return {};
  const Node* source = projection_giving_heads(graph, half->inputs[0]);
  if (source == nullptr) source = norm_giving_heads(graph, half->inputs[0]);
  if (source == nullptr || !has_floats(graph, source->inputs[1])) return {};
  return {source, graph.value(source->inputs[1]).shape[0],
          2 * graph.value(half->output()).shape.back()};
}

/// The matmul that reads these keys, with the past before and repeated heads after them.
const Node* scores_of(const Graph& graph, const Users& users, ValueId keys) {
  while (true) {
    const Node* next = nullptr;
    for (const NodeId id : users[static_cast<size_t>(keys)]) next = &graph.node(id);
    if (next == nullptr || next->op == Op::matmul) return next;
    if (next->op != Op::cat && next->op != Op::unsqueeze && next->op != Op::expand &&
        next->op != Op::reshape) {
      return nullptr;
    }
    keys = next->output();
  }
}

/// One factor for each pair of dimensions of each key-value head that rotates, and for each of the
/// others: [Hkv * D]. Dimension d rotates with d + rotating / 2.
std::vector<float> factors_of(const std::vector<float>& magnitudes, int64_t head_dim,
                              int64_t rotating) {
  const float largest = *std::max_element(magnitudes.begin(), magnitudes.end());
  std::vector<float> factors(magnitudes.size(), 1.0f);
  if (!(largest > 0.0f)) return factors;
  // A dimension that calibration hardly saw must not be blown up without bound.
  constexpr float kSmallest = 1e-3f;
  const int64_t half = rotating / 2;
  for (size_t i = 0; i < factors.size(); ++i) {
    const int64_t d = static_cast<int64_t>(i) % head_dim;
    const int64_t to_partner = d >= rotating ? 0 : d < half ? half : -half;
    const auto partner = static_cast<size_t>(static_cast<int64_t>(i) + to_partner);
    factors[i] = std::max(std::max(magnitudes[i], magnitudes[partner]) / largest, kSmallest);
  }
  return factors;
}

/// One for every channel of the queries, whose heads stand `groups` to a key-value head: factors of
/// the keys' heads, or of every head.
std::vector<float> repeat(const std::vector<float>& factors, int64_t head_dim, int64_t groups,
                          int64_t channels) {
  std::vector<float> repeated;
  repeated.reserve(static_cast<size_t>(channels));
  for (int64_t i = 0; i < channels; ++i) {
    const int64_t head = i / head_dim / groups;
    const int64_t channel = head * head_dim + i % head_dim;
    repeated.push_back(factors[static_cast<size_t>(channel) % factors.size()]);
  }
  return repeated;
}

/// The largest of every head, dimension by dimension.
std::vector<float> largest_of_heads(const std::vector<float>& magnitudes, int64_t head_dim) {
  std::vector<float> largest(static_cast<size_t>(head_dim), 0.0f);
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    float& dimension = largest[i % largest.size()];
    dimension = std::max(dimension, magnitudes[i]);
  }
  return largest;
}

/// Rows of a projection and its bias, or the weight of a norm.
void scale_channels(Graph& graph, NodeId node, const std::vector<float>& factors) {
  const std::vector<ValueId> inputs = graph.node(node).inputs;
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Value& weight = graph.value(inputs[i]);
    const int64_t width = weight.shape.size() == 1 ? 1 : weight.shape[1];
    replace_weight(graph, node, i, scale_rows(weight.constant->floats, width, factors),
                   i == 1 ? "weight" : "bias");
  }
}

}  // namespace

void equalize_keys(Graph& graph, const KeyMagnitudes& magnitudes) {
  const Users users = graph.users();
  for (size_t layer = 0; layer < magnitudes.size(); ++layer) {
    const std::string name = "k_new_" + std::to_string(layer);
    const auto output =
        std::find_if(graph.outputs().begin(), graph.outputs().end(),
                     [&](const GraphOutput& candidate) { return candidate.name == name; });
    if (output == graph.outputs().end()) continue;
    const Node* transpose = producer_if(graph, output->value, {Op::transpose});
    const Node* scores = scores_of(graph, users, output->value);
    if (transpose == nullptr || scores == nullptr) continue;
    const RotatedHeads keys = heads_of(graph, transpose->inputs[0]);
    const RotatedHeads queries = heads_of(graph, scores->inputs[0]);
    const Shape& key_shape = graph.value(output->value).shape;        // [1, Hkv, D, AR]
    const Shape& query_shape = graph.value(scores->inputs[0]).shape;  // [1, H, AR, D]
    const int64_t head_dim = key_shape[2];
    if (keys.node == nullptr || queries.node == nullptr || keys.rotating != queries.rotating ||
        static_cast<int64_t>(magnitudes[layer].size()) != key_shape[1] * head_dim) {
      continue;
    }
    // A norm whose weight all heads share has one factor for all of them.
    const bool alike = keys.channels == head_dim;
    if (!alike && queries.channels == head_dim) continue;
    const std::vector<float> factors =
        factors_of(alike ? largest_of_heads(magnitudes[layer], head_dim) : magnitudes[layer],
                   head_dim, keys.rotating);
    std::vector<float> inverse;
    for (const float factor : factors) inverse.push_back(1.0f / factor);
    const NodeId key_id = keys.node->id;
    const NodeId query_id = queries.node->id;
    const int64_t groups = query_shape[1] / key_shape[1];
    const std::vector<float> repeated = repeat(factors, head_dim, groups, queries.channels);
    scale_channels(graph, key_id, inverse);
    scale_channels(graph, query_id, repeated);
  }
}

}  // namespace lathe
