#include "executors/cpu/pattern_parts.h"
#include "executors/cpu/patterns.h"
#include "executors/cpu/values.h"
#include "executors/reference/integer.h"

namespace lathe {
namespace {

bool is_input(const Graph& graph, ValueId value) {
  return graph.producer(value) == nullptr && !graph.value(value).is_constant();
}

/// Keys or values as attention reads them: concat(past, new), perhaps repeated for grouped heads.
struct Concatenated {
  ValueId past = kNone;
  ValueId fresh = kNone;
  int64_t groups = 1;
};

/// The value that [1, Hkv, a, b] -> [1, Hkv, groups, a, b] -> [1, Hkv * groups, a, b] repeats.
ValueId match_repeated(const Graph& graph, const Node& reshape, int64_t& groups,
                       std::vector<NodeId>& covered) {
  const Node* expand = given_by(graph, reshape.inputs[0], Op::expand);
  const Node* unsqueeze =
      expand == nullptr ? nullptr : given_by(graph, expand->inputs[0], Op::unsqueeze);
  if (unsqueeze == nullptr || graph.value(unsqueeze->output()).shape.size() != 5 ||
      dimension(*unsqueeze, "dim", 5) != 2) {
    return kNone;
  }
  const ValueId single = unsqueeze->inputs[0];
  const Shape& from = graph.value(single).shape;
  const Shape& repeated = graph.value(expand->output()).shape;
  if (repeated.size() != 5) return kNone;
  groups = repeated[2];
  if (repeated != Shape{from[0], from[1], groups, from[2], from[3]} ||
      graph.value(reshape.output()).shape != Shape{from[0], from[1] * groups, from[2], from[3]}) {
    return kNone;
  }
  covered.insert(covered.end(), {unsqueeze->id, expand->id, reshape.id});
  return single;
}

/// `dim`: that of the tokens.
std::optional<Concatenated> match_concatenated(const Graph& graph, ValueId value, size_t dim,
                                               std::vector<NodeId>& covered) {
  Concatenated found;
  if (const Node* reshape = given_by(graph, value, Op::reshape)) {
    value = match_repeated(graph, *reshape, found.groups, covered);
    if (value == kNone) return std::nullopt;
  }
  const Node* cat = given_by(graph, value, Op::cat);
  if (cat == nullptr || cat->inputs.size() != 2 || !is_input(graph, cat->inputs[0]) ||
      graph.value(value).shape.size() != 4 || dimension(*cat, "dim", 4) != dim ||
      !is_codes(graph.value(value), DType::u8) || affine(graph.value(value)).zero_point != 128) {
    return std::nullopt;
  }
  covered.push_back(cat->id);
  found.past = cat->inputs[0];
  found.fresh = cat->inputs[1];
  return found;
}

/// What a softmax is taken of.
struct MaskedScores {
  ValueId scores = kNone;
  ValueId mask = kNone;
};

/// softmax(scores + mask), or masked_softmax(scores, mask), into `found`.
std::optional<MaskedScores> match_masked(const Graph& graph, ValueId weights,
                                         AttentionPattern& found) {
  found.weights = weights;
  if (const Node* softmax = given_by(graph, weights, Op::masked_softmax)) {
    const Value& mask = graph.value(softmax->inputs[1]);
    // The kernel takes columns of code 0 for masked.
    if (!is_codes(mask, DType::u16) || affine(mask).zero_point == 0) return std::nullopt;
    found.below = softmax->attributes.real("below");
    return MaskedScores{softmax->inputs[0], softmax->inputs[1]};
  }
  const Node* softmax = given_by(graph, weights, Op::softmax);
  const Node* sum = softmax == nullptr ? nullptr : given_by(graph, softmax->inputs[0], Op::add);
  if (sum == nullptr || sum->inputs.size() != 2 || !all_u16(graph, {sum->output()})) {
    return std::nullopt;
  }
  found.masked = sum->output();
  found.covered.push_back(sum->id);
  return MaskedScores{sum->inputs[0], sum->inputs[1]};
}

/// The node of one operand and the number {other} that gives a value; else null.
const Node* by_number(const Graph& graph, ValueId value, Op op) {
  const Node* node = given_by(graph, value, op);
  return node != nullptr && node->inputs.size() == 1 ? node : nullptr;
}

/// The soft cap that gives `scores`, with its nodes, into `found`; what it is taken of, which is
/// `scores` where there is none.
ValueId match_softcap(const Graph& graph, ValueId scores, AttentionPattern& found) {
  const Node* product = by_number(graph, scores, Op::mul);
  const Node* curve = product == nullptr ? nullptr : given_by(graph, product->inputs[0], Op::tanh);
  const Node* quotient = curve == nullptr ? nullptr : by_number(graph, curve->inputs[0], Op::div);
  if (quotient == nullptr || quotient->attributes.real("other") == 0.0 ||
      !all_u16(graph, {quotient->output(), curve->output(), scores})) {
    return scores;
  }
  found.softcap = {quotient->attributes.real("other"), quotient->output(), curve->output(),
                   product->attributes.real("other"), scores};
  found.covered.insert(found.covered.end(), {quotient->id, curve->id, product->id});
  return quotient->inputs[0];
}

/// Whether shapes are those that AttentionPattern states, and within what the kernels can add up.
bool attention_shapes_fit(const Graph& graph, const AttentionPattern& pattern) {
  const auto shape = [&](ValueId id) -> const Shape& { return graph.value(id).shape; };
  const Shape& query = shape(pattern.query);
  const Shape& mask = shape(pattern.mask);
  if (query.size() != 4 || query[0] != 1 || mask.size() != 4) return false;
  const int64_t heads = shape(pattern.new_keys)[1];
  const int64_t rows = query[2];
  const int64_t width = query[3];
  const int64_t context = mask[3];
  return heads > 0 && rows > 0 && width > 0 && width <= kMaxHeadDim &&
         context <= kMaxAttentionColumns && query[1] == heads * pattern.groups &&
         mask == Shape{1, 1, rows, context} &&
         shape(pattern.past_keys) == Shape{1, heads, width, context - rows} &&
         shape(pattern.new_keys) == Shape{1, heads, width, rows} &&
         shape(pattern.past_values) == Shape{1, heads, context - rows, width} &&
         shape(pattern.new_values) == Shape{1, heads, rows, width};
}

}  // namespace

std::optional<AttentionPattern> match_attention(const Graph& graph, const Node& last,
                                                const Users& users) {
  if (last.op != Op::matmul) return std::nullopt;
  AttentionPattern found;
  const std::optional<MaskedScores> masked = match_masked(graph, last.inputs[0], found);
  if (!masked || !is_input(graph, masked->mask)) return std::nullopt;
  const Node* scaled = by_number(graph, match_softcap(graph, masked->scores, found), Op::mul);
  if (scaled == nullptr) return std::nullopt;
  const Node* scores = given_by(graph, scaled->inputs[0], Op::matmul);
  if (scores == nullptr) return std::nullopt;

  const auto keys = match_concatenated(graph, scores->inputs[1], 3, found.covered);
  const auto values = match_concatenated(graph, last.inputs[1], 2, found.covered);
  if (!keys || !values || keys->groups != values->groups) return std::nullopt;
  found.covered.insert(found.covered.end(),
                       {scores->id, scaled->id, graph.value(found.weights).producer, last.id});
  found.query = scores->inputs[0];
  found.past_keys = keys->past;
  found.new_keys = keys->fresh;
  found.past_values = values->past;
  found.new_values = values->fresh;
  found.mask = masked->mask;
  found.scores = scores->output();
  found.scaled = scaled->output();
  found.result = last.output();
  found.scale = scaled->attributes.real("other");
  found.groups = keys->groups;
  if (!all_u16(graph, {found.query, found.mask, found.scores, found.scaled, found.weights,
                       found.result}) ||
      !attention_shapes_fit(graph, found) ||
      !closed(graph, found.covered, {found.query, found.new_keys, found.new_values}, users)) {
    return std::nullopt;
  }
  return found;
}

std::optional<RepeatedMatmulPattern> match_repeated_matmul(const Graph& graph, const Node& last,
                                                           const Users& users) {
  if (last.op != Op::matmul || !is_integer_matmul(graph, last)) return std::nullopt;
  RepeatedMatmulPattern found;
  found.a = last.inputs[0];
  found.b = last.inputs[1];
  found.result = last.output();
  if (graph.value(found.result).shape.size() != 4) return std::nullopt;
  if (const Node* transpose = given_by(graph, found.b, Op::transpose)) {
    const size_t first = dimension(*transpose, "dim0", 4);
    const size_t second = dimension(*transpose, "dim1", 4);
    if (first + second != 5 || first * second != 6) return std::nullopt;
    found.exchanged = true;
    found.covered.push_back(transpose->id);
    found.b = transpose->inputs[0];
  }
  const Node* reshape = given_by(graph, found.b, Op::reshape);
  if (reshape == nullptr) return std::nullopt;
  found.b = match_repeated(graph, *reshape, found.groups, found.covered);
  if (found.b == kNone) return std::nullopt;
  found.covered.push_back(last.id);
  if (!all_u16(graph, {found.a, found.result}) || graph.value(found.b).shape[0] != 1 ||
      elements(graph.value(found.result).shape) == 0 ||
      graph.value(found.a).shape[3] > kMaxMatmulDepth ||
      !closed(graph, found.covered, {found.a, found.b}, users)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace lathe
