// Before (H query heads over Hkv key-value heads):     After, for every head:
//   %q = transpose(reshape(permute(conv2d(%x, %Wq))))    %q.h0 = permute(conv2d(%x, %Wq.h0))
//   %k = transpose(reshape(permute(conv2d(%x, %Wk))))    %k.h0 = permute(conv2d(%x, %Wk.h0))
//   %v = transpose(reshape(permute(conv2d(%x, %Wv))))    %v.h0 = permute(conv2d(%x, %Wv.h0))
//   %kt = transpose(%k)                                  %kt.h0 = transpose(%k.h0)
//   %keys = repeat(cat(%k_cache_0, %kt))                 %keys.h0 = cat(slice(%k_cache_0), %kt.h0)
//   %values = repeat(cat(%v_cache_0, %v))                %values.h0 = cat(slice(%v_cache_0), %v.h0)
//   %p = softmax(add(matmul(%q, %keys), %mask))          %p.h0 = softmax(add(matmul(...), %mask))
//   %o = matmul(%p, %values)                             %o.h0 = matmul(%p.h0, %values.h0)
//   %m = reshape(transpose(%o))                          %m = reshape(cat(%o.h0, %o.h1, ...))
//   %y = conv2d(permute(%m), %Wo)                        %y = conv2d(permute(%m), %Wo)
//   output k_new_0 = %kt                                 output k_new_0 = cat(%kt.h0, ...)
//   output v_new_0 = %v                                  output v_new_0 = cat(%v.h0, ...)
//
// A key-value head is made once and read by its H / Hkv query heads. Every part has the encoding of
// the whole, so no code changes. Where a norm goes over all queries or keys at once, they are made
// together, and %q.h0 = slice(%q).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/rewrite.h"
#include "graph/slice_channels.h"
#include "passes/attention_region.h"
#include "passes/pass.h"

namespace lathe {
namespace {

class HeadSplit {
 public:
  explicit HeadSplit(Graph& graph)
      : graph_(graph),
        users_(graph.users()),
        rewrite_(graph),
        inside_(static_cast<size_t>(graph.node_count()), false) {}

  void run() {
    for (const NodeId id : graph_.order()) {
      if (graph_.node(id).op != Op::matmul) continue;
      if (std::optional<AttentionRegion> region = find_attention(graph_, users_, graph_.node(id))) {
        add(std::move(*region));
      }
    }
    for (const AttentionRegion& region : regions_) split(region);
    rewrite_.apply();
    graph_.remove_dead();
    graph_.restore_order();  // somebody outside may read joined heads early
  }

 private:
  /// Regions may share keys and values; one that sees them with other heads stays whole.
  void add(AttentionRegion region) {
    for (const auto& [value, axis] : region.heads) {
      const auto found = heads_.find(value);
      if (found != heads_.end() && found->second != axis) return;
    }
    for (const auto& [value, axis] : region.heads) {
      if (!region.made_together.contains(value)) enter(value);
    }
    made_together_.insert(region.made_together.begin(), region.made_together.end());
    for (const auto& [repeated, heads] : region.repeats) {
      const ValueId expanded = graph_.producer(repeated)->inputs[0];
      enter(expanded);
      enter(graph_.producer(expanded)->inputs[0]);
    }
    enter(graph_.node(region.merge).output());
    heads_.insert(region.heads.begin(), region.heads.end());
    repeats_.insert(region.repeats.begin(), region.repeats.end());
    for (const HeadProjection& projection : {region.query, region.key, region.value}) {
      if (projection.product == kNone) continue;
      projections_.emplace(graph_.node(projection.turn).output(), projection);
    }
    regions_.push_back(std::move(region));
  }

  void enter(ValueId value) {
    if (const Node* node = graph_.producer(value)) inside_[static_cast<size_t>(node->id)] = true;
  }

  void split(const AttentionRegion& region) {
    where_ = region.joined;
    // [1, 1, AR, D] of all heads along D are rows of H * D, as [1, AR, H, D] are.
    const Node merge = graph_.node(region.merge);
    const ValueId rows = join(merge.inputs[0], 3);
    stand_in(graph_, rows, merge.output());
    graph_.set_inputs(region.joined, {rows});
    for (const auto& [value, axis] : region.heads) {
      if (is_cut(value) || !is_read_outside(value)) continue;
      rewrite_.replace(value, join(value, static_cast<int64_t>(axis.axis)));
    }
  }

  /// Whether heads of `value` are slices of it.
  bool is_cut(ValueId value) const {
    return graph_.producer(value) == nullptr || made_together_.contains(value);
  }

  /// Whether somebody needs the heads of `value` together: new keys and values are outputs.
  bool is_read_outside(ValueId value) const {
    const std::vector<NodeId>& readers = users_[static_cast<size_t>(value)];
    return is_output(graph_, value) || std::any_of(readers.begin(), readers.end(), [&](NodeId id) {
             return !inside_[static_cast<size_t>(id)];
           });
  }

  /// All heads of `value` along `dim`.
  ValueId join(ValueId value, int64_t dim) {
    const std::string module = graph_.producer(value)->module;
    std::vector<ValueId> parts;
    for (int64_t h = 0; h < heads_.at(value).heads; ++h) parts.push_back(head(value, h));
    const ValueId whole = rewrite_.insert_before(where_, {.op = Op::cat,
                                                          .inputs = std::move(parts),
                                                          .attributes = {{"dim", dim}},
                                                          .module = module});
    stand_in(graph_, whole, value);
    return whole;
  }

  /// Head `h` of a value; what holds no heads serves all of them.
  ValueId head(ValueId value, int64_t h) {
    const auto typed = heads_.find(value);
    if (typed == heads_.end()) return value;
    const auto [place, added] = parts_.emplace(std::pair(value, h), kNone);
    if (added) place->second = make_head(value, typed->second, h);
    return place->second;
  }

  ValueId make_head(ValueId value, HeadAxis axis, int64_t h) {
    if (const auto found = repeats_.find(value); found != repeats_.end()) {
      const int64_t kv_heads = graph_.value(found->second).shape[1];
      return head(found->second, h / (axis.heads / kv_heads));
    }
    if (const auto found = projections_.find(value); found != projections_.end()) {
      return project(found->second, h);
    }
    if (is_cut(value)) {
      const std::string module = graph_.node(users_[static_cast<size_t>(value)].front()).module;
      const auto dim = static_cast<int64_t>(axis.axis);
      return add_part(value, h,
                      {.op = Op::slice,
                       .inputs = {value},
                       .attributes = {{"dim", dim}, {"start", h}, {"end", h + 1}},
                       .module = module});
    }
    const Node* producer = graph_.producer(value);
    NodeSpec spec{.op = producer->op,
                  .inputs = producer->inputs,
                  .attributes = producer->attributes,
                  .module = producer->module};
    for (ValueId& input : spec.inputs) input = head(input, h);
    return add_part(value, h, std::move(spec));
  }

  /// The D channels of one head: conv2d [1, D, 1, AR] -> (requantize) -> permute [1, 1, AR, D], or
  /// [1, 1, D, AR] where the whole is turned so.
  ValueId project(const HeadProjection& projection, int64_t h) {
    const Node product = graph_.node(projection.product);
    std::vector<ValueId> inputs = product.inputs;
    for (size_t i = 1; i < inputs.size(); ++i) {
      inputs[i] = add_slice(inputs[i], h, projection.head_dim);
    }
    ValueId made =
        add_part(product.output(), h,
                 {.op = Op::conv2d, .inputs = std::move(inputs), .module = product.module});
    if (projection.requantize != kNone) {
      const Node requantize = graph_.node(projection.requantize);
      made = add_part(requantize.output(), h,
                      {.op = Op::requantize, .inputs = {made}, .module = requantize.module});
    }
    const Node turn = graph_.node(projection.turn);
    // Where the dimensions of [1, AR, h, D] are in [1, D, 1, AR].
    constexpr std::array<int64_t, 4> kPlaces{0, 3, 2, 1};
    std::vector<int64_t> dims = permutation_of(graph_, turn);
    for (int64_t& dim : dims) dim = kPlaces[static_cast<size_t>(dim)];
    return add_part(turn.output(), h,
                    {.op = Op::permute,
                     .inputs = {made},
                     .attributes = {{"dims", std::move(dims)}},
                     .module = turn.module});
  }

  ValueId add_slice(ValueId weight, int64_t h, int64_t head_dim) {
    const Value part = slice_channels(graph_.value(weight), h * head_dim, head_dim, suffix(h));
    const ValueId id = graph_.add_constant(part.name, part.dtype, part.shape, part.constant);
    graph_.set_value_type(id, part.dtype, part.encoding);
    return id;
  }

  /// A node whose output is head `h` of `whole`.
  ValueId add_part(ValueId whole, int64_t h, NodeSpec spec) {
    spec.name = graph_.value(whole).name + suffix(h);
    const ValueId part = rewrite_.insert_before(where_, std::move(spec));
    stand_in(graph_, part, whole);
    return part;
  }

  static std::string suffix(int64_t h) { return fmt::format(".h{}", h); }

  Graph& graph_;
  Users users_;
  Rewrite rewrite_;
  std::vector<AttentionRegion> regions_;
  // Of all regions together.
  std::map<ValueId, HeadAxis> heads_;
  std::map<ValueId, ValueId> repeats_;
  std::set<ValueId> made_together_;
  std::map<ValueId, HeadProjection> projections_;  // by what their transpose gives
  std::vector<bool> inside_;                       // by node: works on heads
  NodeId where_ = kNone;                           // new nodes stand before this one
  std::map<std::pair<ValueId, int64_t>, ValueId> parts_;
};

}  // namespace

void mha_to_sha(Graph& graph) { HeadSplit(graph).run(); }

}  // namespace lathe
