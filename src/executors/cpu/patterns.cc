#include "executors/cpu/patterns.h"

#include <algorithm>

#include "executors/cpu/values.h"

namespace lathe {
namespace {

using Users = std::vector<std::vector<NodeId>>;

const Node* given_by(const Graph& graph, ValueId value, Op op) {
  const Node* node = graph.producer(value);
  return node != nullptr && node->op == op ? node : nullptr;
}

bool is_input(const Graph& graph, ValueId value) {
  return graph.producer(value) == nullptr && !graph.value(value).is_constant();
}

bool all_u16(const Graph& graph, std::initializer_list<ValueId> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](ValueId id) { return is_codes(graph.value(id), DType::u16); });
}

/// Whether nothing outside `covered` reads a result of a covered node, the last one's aside, and
/// `operands` are no such results either.
bool closed(const Graph& graph, const std::vector<NodeId>& covered,
            std::initializer_list<ValueId> operands, const Users& users) {
  const auto inside = [&](NodeId id) {
    return std::find(covered.begin(), covered.end(), id) != covered.end();
  };
  for (const ValueId id : operands) {
    if (inside(graph.value(id).producer)) return false;
  }
  for (const NodeId id : covered) {
    if (id == covered.back()) continue;
    const ValueId result = graph.node(id).output();
    const std::vector<NodeId>& readers = users[static_cast<size_t>(result)];
    if (!std::all_of(readers.begin(), readers.end(), inside)) return false;
    for (const GraphOutput& output : graph.outputs()) {
      if (output.value == result) return false;
    }
  }
  return true;
}

/// Keys or values as attention reads them: concat(past, new), perhaps repeated for grouped heads.
struct Concatenated {
  ValueId past = kNone;
  ValueId fresh = kNone;
  int64_t groups = 1;
};

/// The value that [1, Hkv, a, b] -> [1, Hkv, groups, a, b] -> [1, Hkv * groups, a, b] repeats.
ValueId match_repeated(const Graph& graph, const Node& reshape, Concatenated& found,
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
  found.groups = repeated[2];
  if (repeated != Shape{from[0], from[1], found.groups, from[2], from[3]} ||
      graph.value(reshape.output()).shape !=
          Shape{from[0], from[1] * found.groups, from[2], from[3]}) {
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
    value = match_repeated(graph, *reshape, found, covered);
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
  const Node* softmax = given_by(graph, last.inputs[0], Op::softmax);
  if (softmax == nullptr) return std::nullopt;
  const Node* masked = given_by(graph, softmax->inputs[0], Op::add);
  if (masked == nullptr || masked->inputs.size() != 2 || !is_input(graph, masked->inputs[1])) {
    return std::nullopt;
  }
  const Node* scaled = given_by(graph, masked->inputs[0], Op::mul);
  if (scaled == nullptr || scaled->inputs.size() != 1) return std::nullopt;
  const Node* scores = given_by(graph, scaled->inputs[0], Op::matmul);
  if (scores == nullptr) return std::nullopt;

  AttentionPattern found;
  const auto keys = match_concatenated(graph, scores->inputs[1], 3, found.covered);
  const auto values = match_concatenated(graph, last.inputs[1], 2, found.covered);
  if (!keys || !values || keys->groups != values->groups) return std::nullopt;
  found.covered.insert(found.covered.end(),
                       {scores->id, scaled->id, masked->id, softmax->id, last.id});
  found.query = scores->inputs[0];
  found.past_keys = keys->past;
  found.new_keys = keys->fresh;
  found.past_values = values->past;
  found.new_values = values->fresh;
  found.mask = masked->inputs[1];
  found.scores = scores->output();
  found.scaled = scaled->output();
  found.masked = masked->output();
  found.weights = softmax->output();
  found.result = last.output();
  found.scale = scaled->attributes.real("other");
  found.groups = keys->groups;
  if (!all_u16(graph, {found.query, found.mask, found.scores, found.scaled, found.masked,
                       found.weights, found.result}) ||
      !attention_shapes_fit(graph, found) ||
      !closed(graph, found.covered, {found.query, found.new_keys, found.new_values}, users)) {
    return std::nullopt;
  }
  return found;
}

std::optional<RopePattern> match_rope(const Graph& graph, const Node& last, const Users& users) {
  if (last.op != Op::add || last.inputs.size() != 2) return std::nullopt;
  const Node* straight = given_by(graph, last.inputs[0], Op::mul);
  const Node* turned = given_by(graph, last.inputs[1], Op::mul);
  if (straight == nullptr || turned == nullptr || straight->inputs.size() != 2 ||
      turned->inputs.size() != 2) {
    return std::nullopt;
  }
  const Node* cat = given_by(graph, turned->inputs[0], Op::cat);
  if (cat == nullptr || cat->inputs.size() != 2) return std::nullopt;
  const Node* neg = given_by(graph, cat->inputs[0], Op::neg);
  const Node* first = given_by(graph, cat->inputs[1], Op::slice);
  const Node* second = neg == nullptr ? nullptr : given_by(graph, neg->inputs[0], Op::slice);
  if (first == nullptr || second == nullptr) return std::nullopt;

  RopePattern found{{second->id, neg->id, first->id, cat->id, straight->id, turned->id, last.id},
                    straight->inputs[0],
                    straight->inputs[1],
                    turned->inputs[1],
                    cat->output(),
                    straight->output(),
                    turned->output(),
                    last.output()};
  const auto shape = [&](ValueId id) -> const Shape& { return graph.value(id).shape; };
  const Shape& x = shape(found.x);  // [1, heads, AR, D]
  if (x.size() != 4 || x[0] != 1 || elements(x) == 0 || x[3] % 2 != 0) return std::nullopt;
  const auto is_half = [&](const Node& slice, int64_t start) {
    return slice.inputs[0] == found.x && dimension(slice, "dim", 4) == 3 &&
           slice.attributes.integer("start") == start && shape(slice.output())[3] == x[3] / 2;
  };
  const Shape row{1, 1, x[2], x[3]};
  const bool fits = is_half(*first, 0) && is_half(*second, x[3] / 2) && shape(found.rotated) == x &&
                    shape(found.cos) == row && shape(found.sin) == row;
  // Slices and concat have the encodings of what they move.
  if (!fits ||
      !all_u16(graph, {found.x, found.cos, found.sin, found.rotated, found.x_cos, found.rotated_sin,
                       found.result}) ||
      !closed(graph, found.covered, {found.x, found.cos, found.sin}, users)) {
    return std::nullopt;
  }
  return found;
}

std::optional<GatedPattern> match_gated(const Graph& graph, const Node& last, const Users& users) {
  if (last.op != Op::mul || last.inputs.size() != 2) return std::nullopt;
  const Node* silu = given_by(graph, last.inputs[0], Op::silu);
  if (silu == nullptr) return std::nullopt;
  GatedPattern found{
      {silu->id, last.id}, silu->inputs[0], silu->output(), last.inputs[1], last.output()};
  if (!all_u16(graph, {found.gate, found.activated, found.up, found.result}) ||
      graph.value(found.gate).shape != graph.value(found.up).shape ||
      !closed(graph, found.covered, {found.gate, found.up}, users)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace lathe
