#include "passes/score_operands.h"

#include <iterator>

#include "passes/match.h"

namespace lathe {
namespace {

bool swaps_last_two(const Graph& graph, const Node& node) {
  if (node.op != Op::transpose) return false;
  const std::vector<int64_t> dims = permutation_of(graph, node);
  return dims.size() >= 2 && dims.back() + 1 == std::ssize(dims) - 1;
}

/// The heads that `value` repeats for grouped queries, or kNone.
ValueId repeated(const Graph& graph, ValueId value) {
  const Node* reshape = producer_if(graph, value, {Op::reshape, Op::view});
  const Node* expand =
      reshape == nullptr ? nullptr : producer_if(graph, reshape->inputs[0], {Op::expand});
  const Node* unsqueeze =
      expand == nullptr ? nullptr : producer_if(graph, expand->inputs[0], {Op::unsqueeze});
  return unsqueeze == nullptr ? kNone : unsqueeze->inputs[0];
}

/// The input through which fresh keys join the past, or nothing where `node` does not do that.
std::optional<size_t> fresh_input(const Graph& graph, const Node& node) {
  if (node.op == Op::index_copy_) return 2;
  if (node.op != Op::cat || node.inputs.size() != 2) return std::nullopt;
  const Value& past = graph.value(node.inputs[0]);
  return past.producer == kNone && !past.is_constant() ? std::optional<size_t>(1) : std::nullopt;
}

/// The product of queries and keys, behind scaling and mask; else null.
const Node* scores_behind(const Graph& graph, ValueId value) {
  const Node* node = producer_if(
      graph, value,
      {Op::matmul, Op::add, Op::sub, Op::mul, Op::div, Op::tanh, Op::where, Op::requantize});
  if (node == nullptr || node->op == Op::matmul) return node;
  for (const ValueId input : node->inputs) {
    if (const Node* scores = scores_behind(graph, input)) return scores;
  }
  return nullptr;
}

/// Where the new keys are read on their way to the scores; nothing where they are not transposed.
std::optional<Place> find_keys(const Graph& graph, const Node& scores) {
  Place place{scores.id, 1};
  ValueId keys = scores.inputs[1];
  bool transposed = false;
  bool joined = false;  // with the past
  while (const Node* node = graph.producer(keys)) {
    const std::optional<size_t> fresh = joined ? std::nullopt : fresh_input(graph, *node);
    if (fresh) {
      joined = true;
      place = {node->id, *fresh};
      keys = node->inputs[*fresh];
    } else if (!transposed && swaps_last_two(graph, *node)) {
      transposed = true;
      place = {node->id, 0};
      keys = node->inputs[0];
    } else if (const ValueId heads = repeated(graph, keys); heads != kNone) {
      keys = heads;
    } else {
      break;
    }
  }
  return transposed ? std::optional(place) : std::nullopt;
}

std::optional<ScoreOperands> operands_of(const Graph& graph, const Node& softmax) {
  const Node* scores = scores_behind(graph, softmax.inputs[0]);
  if (scores == nullptr) return std::nullopt;
  const std::optional<Place> keys = find_keys(graph, *scores);
  if (!keys) return std::nullopt;
  const Place queries{scores->id, 0};
  const auto width = [&](const Place& place) {
    return graph.value(graph.node(place.reader).inputs[place.input]).shape.back();
  };
  if (width(*keys) != width(queries)) return std::nullopt;
  return ScoreOperands{queries, *keys};
}

}  // namespace

std::vector<AttentionScores> find_attention_scores(const Graph& graph) {
  std::vector<AttentionScores> found;
  for (const NodeId id : graph.order()) {
    const Node& mix = graph.node(id);
    if (mix.op != Op::matmul) continue;
    const Node* softmax = producer_if(graph, mix.inputs[0], {Op::softmax});
    if (softmax != nullptr) found.push_back({id, operands_of(graph, *softmax)});
  }
  return found;
}

}  // namespace lathe
