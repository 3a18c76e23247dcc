#include "executors/cpu/pattern_parts.h"
#include "executors/cpu/patterns.h"
#include "executors/cpu/values.h"
#include "graph/operators.h"

namespace lathe {
namespace {

/// Whether these slices, of which any may be null, cut every head of x [1, heads, AR, D] into two
/// halves of one width and, where there is a third, the rest.
bool cut_heads(const Graph& graph, const std::vector<const Node*>& slices, ValueId x) {
  std::vector<int64_t> widths;
  int64_t start = 0;
  for (const Node* slice : slices) {
    if (slice == nullptr || slice->inputs[0] != x || dimension(*slice, "dim", 4) != 3 ||
        slice->attributes.integer("start") != start || slice_step(*slice) != 1) {
      return false;
    }
    widths.push_back(graph.value(slice->output()).shape[3]);
    start += widths.back();
  }
  return widths[0] == widths[1] && start == graph.value(x).shape[3];
}

/// The u16 values that cat joins. Where it joins bytes, each is requantized to them before, and
/// those nodes become covered. Nothing where they are bytes in another way.
std::vector<ValueId> joined_codes(const Graph& graph, const Node& cat,
                                  std::vector<NodeId>& covered) {
  if (!is_codes(graph.value(cat.output()), DType::u8)) return cat.inputs;
  std::vector<ValueId> codes;
  for (const ValueId part : cat.inputs) {
    const Node* requantize = given_by(graph, part, Op::requantize);
    if (requantize == nullptr) return {};
    covered.push_back(requantize->id);
    codes.push_back(requantize->inputs[0]);
  }
  return codes;
}

}  // namespace

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
  const Shape row{1, 1, x[2], x[3]};
  const bool fits = cut_heads(graph, {first, second}, found.x) && shape(found.rotated) == x &&
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

std::optional<SplitRopePattern> match_split_rope(const Graph& graph, const Node& last,
                                                 const Users& users) {
  if (last.op != Op::cat || last.inputs.size() < 2 || last.inputs.size() > 3) return std::nullopt;
  SplitRopePattern found;
  found.result = last.output();
  const std::vector<ValueId> parts = joined_codes(graph, last, found.covered);
  if (parts.empty()) return std::nullopt;
  found.low = parts[0];
  found.high = parts[1];
  const Node* low = given_by(graph, found.low, Op::sub);
  const Node* high = given_by(graph, found.high, Op::add);
  if (low == nullptr || high == nullptr || low->inputs.size() != 2 || high->inputs.size() != 2) {
    return std::nullopt;
  }
  found.x1_cos = low->inputs[0];
  found.x2_sin = low->inputs[1];
  found.x2_cos = high->inputs[0];
  found.x1_sin = high->inputs[1];
  std::vector<const Node*> products;
  for (const ValueId id : {found.x1_cos, found.x2_sin, found.x2_cos, found.x1_sin}) {
    const Node* product = given_by(graph, id, Op::mul);
    if (product == nullptr || product->inputs.size() != 2) return std::nullopt;
    products.push_back(product);
  }
  const Node* first = given_by(graph, products[0]->inputs[0], Op::slice);
  const Node* second = given_by(graph, products[1]->inputs[0], Op::slice);
  if (first == nullptr || second == nullptr) return std::nullopt;
  found.x = first->inputs[0];
  found.cos = products[0]->inputs[1];
  found.sin = products[1]->inputs[1];
  const bool crossed = products[2]->inputs == std::vector{second->output(), found.cos} &&
                       products[3]->inputs == std::vector{first->output(), found.sin};

  const auto shape = [&](ValueId id) -> const Shape& { return graph.value(id).shape; };
  const Shape& x = shape(found.x);  // [1, heads, AR, D]
  if (!crossed || x.size() != 4 || x[0] != 1 || elements(x) == 0) return std::nullopt;
  std::vector<const Node*> slices{first, second};
  if (parts.size() == 3) slices.push_back(given_by(graph, parts[2], Op::slice));
  const int64_t half = shape(first->output())[3];
  const Shape row{1, 1, x[2], half};
  found.rotating = 2 * half;
  if (!cut_heads(graph, slices, found.x)) return std::nullopt;
  for (const Node* node : slices) found.covered.push_back(node->id);
  for (const Node* node : products) found.covered.push_back(node->id);
  found.covered.insert(found.covered.end(), {low->id, high->id, last.id});
  if (shape(found.result) != x || shape(found.cos) != row || shape(found.sin) != row ||
      !all_u16(graph, {found.x, found.cos, found.sin, found.x1_cos, found.x2_sin, found.x2_cos,
                       found.x1_sin, found.low, found.high}) ||
      !closed(graph, found.covered, {found.x, found.cos, found.sin}, users)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace lathe
