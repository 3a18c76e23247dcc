// Before (tables [CL, D] with two equal halves):     After (tables [CL, D / 2]):
//   %c = embedding(%cos_table, %position)              %c = embedding(%cos_table, %position)
//   %s = embedding(%sin_table, %position)              %s = embedding(%sin_table, %position)
//   %cos = unsqueeze(%c) {dim=1}                       %cos = unsqueeze(%c) {dim=1}
//   %sin = unsqueeze(%s) {dim=1}                       %sin = unsqueeze(%s) {dim=1}
//   %a = mul(%x, %cos)                                 %x1 = slice(%x) {dim=3, start=0, end=D/2}
//   %x1 = slice(%x) {dim=3, start=0, end=D/2}          %x2 = slice(%x) {dim=3, start=D/2, end=D}
//   %x2 = slice(%x) {dim=3, start=D/2, end=...}        %a = mul(%x1, %cos)
//   %n = neg(%x2)                                      %b = mul(%x2, %sin)
//   %h = cat(%n, %x1) {dim=-1}                         %lo = sub(%a, %b)
//   %b = mul(%h, %sin)                                 %d = mul(%x2, %cos)
//   %y = add(%a, %b)                                   %e = mul(%x1, %sin)
//                                                      %hi = add(%d, %e)
//                                                      %y = cat(%lo, %hi) {dim=3}
//
// Where a part of each head rotates, %x is a slice of it, and %y is joined with the rest: halves
// are slices of the whole head then, and one cat joins all three.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/operators.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/rotary_rows.h"

namespace lathe {
namespace {

/// One rotated value, read backwards from its last add.
struct Rope {
  ValueId x = kNone;          // [1, heads, AR, D]
  const Node* cos = nullptr;  // unsqueeze of the picked rows
  const Node* sin = nullptr;
};

class HalfSplit {
 public:
  explicit HalfSplit(Graph& graph) : graph_(graph), rows_(graph) {}

  void run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      if (const std::optional<Rope> rope = match(graph_.node(id))) rewrite(id, *rope);
    }
    graph_.remove_dead();
  }

 private:
  bool is_half(const Node* slice, ValueId x, bool second) const {
    const int64_t width = graph_.value(x).shape.back();
    return slice != nullptr && slice->inputs[0] == x && slice->attributes.integer("dim") == 3 &&
           slice->attributes.integer("start") == (second ? width / 2 : 0) &&
           graph_.value(slice->output()).shape.back() == width / 2;
  }

  std::optional<Rope> match(const Node& node) {
    if (node.op != Op::add || node.inputs.size() != 2) return std::nullopt;
    const Node* straight = producer_if(graph_, node.inputs[0], {Op::mul});
    const Node* turned = producer_if(graph_, node.inputs[1], {Op::mul});
    if (straight == nullptr || turned == nullptr || straight->inputs.size() != 2 ||
        turned->inputs.size() != 2) {
      return std::nullopt;
    }
    const ValueId x = straight->inputs[0];
    const Shape& shape = graph_.value(x).shape;
    if (shape.size() != 4 || shape.back() % 2 != 0) return std::nullopt;
    const Node* halves = producer_if(graph_, turned->inputs[0], {Op::cat});
    if (halves == nullptr || halves->inputs.size() != 2) return std::nullopt;
    const Node* negated = producer_if(graph_, halves->inputs[0], {Op::neg});
    if (negated == nullptr ||
        !is_half(producer_if(graph_, negated->inputs[0], {Op::slice}), x, true) ||
        !is_half(producer_if(graph_, halves->inputs[1], {Op::slice}), x, false)) {
      return std::nullopt;
    }
    const Node* cos = rows_.find(straight->inputs[1]);
    const Node* sin = rows_.find(turned->inputs[1]);
    if (cos == nullptr || sin == nullptr) return std::nullopt;
    return Rope{x, cos, sin};
  }

  std::vector<float> first_half(const Value& table) const {
    const int64_t width = table.shape[1];
    std::vector<float> row(static_cast<size_t>(width));
    std::vector<float> half;
    for (int64_t r = 0; r < table.shape[0]; ++r) {
      table.constant->floats->read(r * width, width, row.data());
      half.insert(half.end(), row.begin(), row.begin() + width / 2);
    }
    return half;
  }

  /// Half the rows of a table, [1, 1, AR, D / 2], made once for all that read it.
  ValueId half_rows(NodeId rows) {
    const Node picked = *graph_.producer(graph_.node(rows).inputs[0]);
    const auto found = half_rows_.find(picked.inputs[0]);
    if (found != half_rows_.end()) return found->second;
    const Value table = graph_.value(picked.inputs[0]);
    const ValueId half =
        graph_.add_constant(table.name, DType::f32, {table.shape[0], table.shape[1] / 2},
                            float_constant(table.constant->name, first_half(table)));
    const ValueId picked_half = graph_.insert_before(
        picked.id,
        {.op = Op::embedding, .inputs = {half, picked.inputs[1]}, .module = picked.module});
    const ValueId value = graph_.insert_after(graph_.value(picked_half).producer,
                                              {.op = Op::unsqueeze,
                                               .inputs = {picked_half},
                                               .attributes = {{"dim", int64_t{1}}},
                                               .module = picked.module});
    half_rows_.emplace(picked.inputs[0], value);
    return value;
  }

  void rewrite(NodeId id, const Rope& rope) {
    // New nodes move the others: by id from here on.
    const NodeId cos_rows = rope.cos->id;
    const NodeId sin_rows = rope.sin->id;
    const ValueId cos = half_rows(cos_rows);
    const ValueId sin = half_rows(sin_rows);
    const std::string module = graph_.node(id).module;
    const int64_t width = graph_.value(rope.x).shape.back();
    const Source source = source_of(rope.x);
    const auto insert = [&](Op op, std::vector<ValueId> inputs, Attributes attributes = {}) {
      return graph_.insert_before(id, {.op = op,
                                       .inputs = std::move(inputs),
                                       .attributes = std::move(attributes),
                                       .module = module});
    };
    const auto half = [&](int64_t start, int64_t end) {
      return insert(
          Op::slice, {source.x},
          {{"dim", int64_t{3}}, {"start", source.first + start}, {"end", source.first + end}});
    };
    const ValueId x1 = half(0, width / 2);
    const ValueId x2 = half(width / 2, width);
    const ValueId a = insert(Op::mul, {x1, cos});
    const ValueId b = insert(Op::mul, {x2, sin});
    const ValueId low = insert(Op::sub, {a, b});
    const ValueId c = insert(Op::mul, {x2, cos});
    const ValueId d = insert(Op::mul, {x1, sin});
    const ValueId high = insert(Op::add, {c, d});
    const bool is_part = source.x != rope.x;
    const std::optional<NodeId> wider =
        is_part ? joined_with_the_rest(graph_.node(id).output()) : std::nullopt;
    if (wider) {
      const Node joined = graph_.node(*wider);
      const ValueId whole = graph_.insert_before(*wider, {.op = Op::cat,
                                                          .inputs = {low, high, joined.inputs[1]},
                                                          .attributes = {{"dim", int64_t{3}}},
                                                          .module = joined.module});
      graph_.replace_uses(joined.output(), whole);
      return;
    }
    const ValueId rotated = insert(Op::cat, {low, high}, {{"dim", int64_t{3}}});
    graph_.replace_uses(graph_.node(id).output(), rotated);
  }

  /// Where numbers of a slice along heads come from.
  struct Source {
    ValueId x = kNone;
    int64_t first = 0;
  };
  Source source_of(ValueId x) const {
    const Node* slice = producer_if(graph_, x, {Op::slice});
    if (slice == nullptr || slice->attributes.integer("dim") != 3 || slice_step(*slice) != 1) {
      return {x, 0};
    }
    return {slice->inputs[0], slice->attributes.integer("start")};
  }

  /// cat(rotated, rest) along heads, if nothing else reads what is rotated.
  std::optional<NodeId> joined_with_the_rest(ValueId rotated) const {
    const std::vector<NodeId> readers = graph_.users()[static_cast<size_t>(rotated)];
    if (readers.size() != 1 || is_output(graph_, rotated)) return std::nullopt;
    const Node& cat = graph_.node(readers.front());
    if (cat.op != Op::cat || cat.inputs.size() != 2 || cat.inputs[0] != rotated) {
      return std::nullopt;
    }
    const int64_t dim = cat.attributes.integer("dim");
    return dim == 3 || dim == -1 ? std::optional(cat.id) : std::nullopt;
  }

  Graph& graph_;
  RotaryRows rows_;
  std::map<ValueId, ValueId> half_rows_;  // by table
};

}  // namespace

void canonicalize_rope(Graph& graph) { HalfSplit(graph).run(); }

}  // namespace lathe
