// Queries and keys whose channels are permuted alike have the same products. Where neighbours of a
// head turn together, the rows of both projections change places so that halves do:
//
// Before (tables [CL, R] with two equal halves):      After:
//   %q = linear(%h, %wq)                                %q = linear(%h, %wq.halves)
//   %x = slice(heads of %q) {dim=3, start=0, end=R}     %x = slice(heads of %q)
//   %c = reshape(expand(unsqueeze(half of %cos)))       %a = mul(%x, %cos)
//   %s = reshape(expand(unsqueeze(half of %sin)))       %x2 = slice(%x) {dim=3, start=R/2, end=R}
//   %a = mul(%x, %c)                                    %n = neg(%x2)
//   %even = slice(%x) {dim=3, start=0, step=2}          %x1 = slice(%x) {dim=3, start=0, end=R/2}
//   %odd = slice(%x) {dim=3, start=1, step=2}           %t = cat(%n, %x1) {dim=-1}
//   %n = unsqueeze(neg(%odd)) {dim=4}                   %b = mul(%t, %sin)
//   %e = unsqueeze(%even) {dim=4}                       %y = add(%a, %b)
//   %t = reshape(cat(%n, %e) {dim=-1})
//   %b = mul(%t, %s)
//   %y = add(%a, %b)
//
// and the same for the keys. %x may be the heads themselves. The cache then holds permuted keys.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/halved_pairs.h"
#include "graph/operators.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/rotary_rows.h"
#include "passes/score_operands.h"

namespace lathe {
namespace {

/// Queries or keys of which pairs turn.
struct PairRope {
  NodeId projection = kNone;  // linear
  NodeId last = kNone;        // the add that gives what has turned
  int64_t head_dim = 0;
  ValueId x = kNone;    // [1, heads, AR, R]
  ValueId cos = kNone;  // [1, 1, AR, R]
  ValueId sin = kNone;
};

class Deinterleaver {
 public:
  explicit Deinterleaver(Graph& graph) : graph_(graph), users_(graph.users()), rows_(graph) {}

  void run() {
    std::vector<PairRope> ropes;
    for (const AttentionScores& attention : find_attention_scores(graph_)) {
      if (!attention.operands) return;
      const std::optional<PairRope> query = match(attention.operands->queries);
      const std::optional<PairRope> key = match(attention.operands->keys);
      // Heads that several attentions share are permuted for all of them or for none.
      if (query.has_value() != key.has_value()) return;
      if (!query) continue;
      if (width(query->x) != width(key->x)) return;
      ropes.insert(ropes.end(), {*query, *key});
    }
    std::set<NodeId> done;
    for (const PairRope& rope : ropes) {
      if (done.insert(rope.last).second) rewrite(rope);
    }
    graph_.remove_dead();
  }

 private:
  int64_t width(ValueId value) const { return graph_.value(value).shape.back(); }

  bool read_once(ValueId value) const {
    return users_[static_cast<size_t>(value)].size() == 1 && !is_output(graph_, value);
  }

  bool all_read_once(std::initializer_list<ValueId> values) const {
    return std::all_of(values.begin(), values.end(), [&](ValueId id) { return read_once(id); });
  }

  /// slice(value) along heads, from `start` in steps of `step`.
  bool is_slice(const Node* node, ValueId value, int64_t start, int64_t step) const {
    return node != nullptr && node->op == Op::slice && node->inputs[0] == value &&
           dimension_of(graph_, *node) == 3 && node->attributes.integer("start") == start &&
           slice_step(*node) == step;
  }

  /// What `value` is an unsqueeze of, which gives it a fifth dimension; else kNone.
  ValueId column(ValueId value) const {
    const Node* node = producer_if(graph_, value, {Op::unsqueeze});
    return node != nullptr && node->attributes.integer("dim") == 4 ? node->inputs[0] : kNone;
  }

  /// Rows of cos or sin [1, 1, AR, R] whose first halves have each number twice in `value`.
  const Node* rows_of(ValueId value) {
    const Node* reshape = producer_if(graph_, value, {Op::reshape});
    const Node* expand =
        reshape == nullptr ? nullptr : producer_if(graph_, reshape->inputs[0], {Op::expand});
    const ValueId half = expand == nullptr ? kNone : column(expand->inputs[0]);
    const Node* slice = half == kNone ? nullptr : producer_if(graph_, half, {Op::slice});
    if (slice == nullptr || !is_slice(slice, slice->inputs[0], 0, 1)) return nullptr;
    const Shape& rows = graph_.value(slice->inputs[0]).shape;
    const Shape twice{1, 1, rows[2], rows[3] / 2, 2};
    if (graph_.value(expand->output()).shape != twice || graph_.value(value).shape != rows) {
      return nullptr;
    }
    return rows_.find(slice->inputs[0]);
  }

  /// Whether `value` has every pair (a, b) of x as (-b, a), and nothing else is made of those.
  bool turns_pairs(ValueId value, ValueId x) const {
    const Node* reshape = producer_if(graph_, value, {Op::reshape});
    const Node* pairs =
        reshape == nullptr ? nullptr : producer_if(graph_, reshape->inputs[0], {Op::cat});
    if (pairs == nullptr || pairs->inputs.size() != 2 || dimension_of(graph_, *pairs) != 4 ||
        graph_.value(value).shape != graph_.value(x).shape) {
      return false;
    }
    const ValueId second = column(pairs->inputs[0]);
    const ValueId first = column(pairs->inputs[1]);
    if (second == kNone || first == kNone) return false;
    const Node* negated = producer_if(graph_, second, {Op::neg});
    return negated != nullptr && is_slice(graph_.producer(negated->inputs[0]), x, 1, 2) &&
           is_slice(graph_.producer(first), x, 0, 2) &&
           all_read_once({negated->inputs[0], second, pairs->inputs[0], first, pairs->inputs[1],
                          pairs->output(), value});
  }

  /// The add whose sum is read at `place`, alone or in front of the part that does not turn.
  const Node* turned(const Place& place) const {
    ValueId heads = graph_.node(place.reader).inputs[place.input];
    if (!read_once(heads)) return nullptr;
    const Node* joined = producer_if(graph_, heads, {Op::cat});
    if (joined != nullptr) {
      if (dimension_of(graph_, *joined) != 3) return nullptr;
      heads = joined->inputs[0];
      if (!read_once(heads)) return nullptr;
    }
    return producer_if(graph_, heads, {Op::add});
  }

  std::optional<PairRope> match(const Place& place) {
    const Node* last = turned(place);
    if (last == nullptr || last->inputs.size() != 2) return std::nullopt;
    const Node* straight = producer_if(graph_, last->inputs[0], {Op::mul});
    const Node* crossed = producer_if(graph_, last->inputs[1], {Op::mul});
    if (straight == nullptr || crossed == nullptr || straight->inputs.size() != 2 ||
        crossed->inputs.size() != 2 || !all_read_once({straight->output(), crossed->output()})) {
      return std::nullopt;
    }
    const ValueId x = straight->inputs[0];
    if (graph_.value(x).shape.size() != 4 || !turns_pairs(crossed->inputs[0], x)) {
      return std::nullopt;
    }
    const Node* cos = rows_of(straight->inputs[1]);
    const Node* sin = rows_of(crossed->inputs[1]);
    if (cos == nullptr || sin == nullptr || width(cos->output()) != width(x)) return std::nullopt;
    const Node* part = producer_if(graph_, x, {Op::slice});
    const ValueId heads = part == nullptr ? x : part->inputs[0];
    if (part != nullptr && !is_slice(part, heads, 0, 1)) return std::nullopt;
    const Node* projection = projection_with_own_heads(heads, x);
    if (projection == nullptr) return std::nullopt;
    return PairRope{projection->id, last->id, width(heads), x, cos->output(), sin->output()};
  }

  /// The linear whose heads [1, heads, AR, D] these are, if nothing but the rotation reads the
  /// first values of them, which are x.
  const Node* projection_with_own_heads(ValueId heads, ValueId x) const {
    const Node* projection = projection_giving_heads(graph_, heads);
    if (projection == nullptr || projection->op != Op::linear ||
        !std::all_of(projection->inputs.begin() + 1, projection->inputs.end(),
                     [&](ValueId input) { return has_floats(graph_, input); })) {
      return nullptr;
    }
    for (ValueId value = heads; value != projection->output();
         value = graph_.producer(value)->inputs[0]) {
      if (value != heads && !read_once(value)) return nullptr;
    }
    if (!read_once(projection->output()) || is_output(graph_, heads) || is_output(graph_, x)) {
      return nullptr;
    }
    constexpr size_t kReadersOfX = 3;  // the product with cos, both halves of the pairs
    if (users_[static_cast<size_t>(x)].size() != kReadersOfX) return nullptr;
    if (x == heads) return projection;
    for (const NodeId id : users_[static_cast<size_t>(heads)]) {
      const Node& reader = graph_.node(id);
      const bool passes = reader.op == Op::slice && dimension_of(graph_, reader) == 3 &&
                          reader.attributes.integer("start") >= width(x);
      if (reader.output() != x && !passes) return nullptr;
    }
    return projection;
  }

  void rewrite(const PairRope& rope) {
    const int64_t rotating = width(rope.x);
    permute_channels(rope.projection, rope.head_dim, rotating);
    const std::string module = graph_.node(rope.last).module;
    const auto insert = [&](Op op, std::vector<ValueId> inputs, Attributes attributes = {}) {
      return graph_.insert_before(rope.last, {.op = op,
                                              .inputs = std::move(inputs),
                                              .attributes = std::move(attributes),
                                              .module = module});
    };
    const auto half = [&](int64_t start) {
      return insert(Op::slice, {rope.x},
                    {{"dim", int64_t{3}}, {"start", start}, {"end", start + rotating / 2}});
    };
    const ValueId straight = insert(Op::mul, {rope.x, rope.cos});
    const ValueId negated = insert(Op::neg, {half(rotating / 2)});
    const ValueId halves = insert(Op::cat, {negated, half(0)}, {{"dim", int64_t{-1}}});
    const ValueId crossed = insert(Op::mul, {halves, rope.sin});
    const ValueId sum = insert(Op::add, {straight, crossed});
    graph_.replace_uses(graph_.node(rope.last).output(), sum);
  }

  void permute_channels(NodeId projection, int64_t head_dim, int64_t rotating) {
    std::vector<ValueId> inputs = graph_.node(projection).inputs;
    for (size_t i = 1; i < inputs.size(); ++i) {
      const Value halves = halved_pairs(graph_.value(inputs[i]), head_dim, rotating);
      inputs[i] = graph_.add_constant(halves.name, halves.dtype, halves.shape, halves.constant);
    }
    graph_.set_inputs(projection, std::move(inputs));
  }

  Graph& graph_;
  const Users users_;
  RotaryRows rows_;
};

}  // namespace

void deinterleave_rope(Graph& graph) { Deinterleaver(graph).run(); }

}  // namespace lathe
