// Before (keys of one layer):
//   input %keys : f32[1, Hkv, CL, D]
//   %index_copy_ = aten.index_copy_(%keys, %slots, %k)
//   %unsqueeze = aten.unsqueeze(%index_copy_) {dim=2}
//   %expand, %reshape : f32[1, H, CL, D]
//   %transpose = aten.transpose(%reshape) {dim0=2, dim1=3}
//   %matmul = aten.matmul(%q, %transpose)
//   output layers.0.keys = %index_copy_
//
// After:
//   input %k_cache_0 : f32[1, Hkv, D, CL - AR]
//   %transpose = aten.transpose(%k) {dim0=2, dim1=3}
//   %cat = aten.cat(%k_cache_0, %transpose) {dim=3}
//   %unsqueeze, %expand, %reshape : f32[1, H, D, CL]
//   %matmul = aten.matmul(%q, %reshape)
//   output k_new_0 = %transpose
//
// Values likewise, not transposed. Caches of layers whose mask is cut off by a window shorter than
// CL have S = min(W, CL - AR) slots instead of CL - AR.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "passes/match.h"
#include "passes/pass.h"
#include "support/error.h"

namespace lathe {
namespace {

/// A whole-cache update and the way its result takes to the attention product that reads it.
struct CacheUpdate {
  NodeId update = kNone;     // index_copy_
  ValueId fresh = kNone;     // [1, Hkv, AR, D]
  NodeId reshape = kNone;    // end of repeat_kv; kNone without grouped heads
  NodeId transpose = kNone;  // keys only
  int64_t window = 0;        // keys only: how far back the mask lets see; 0: to the beginning
};

class StaticCache {
 public:
  explicit StaticCache(Graph& graph) : graph_(graph), users_(graph.users()) {}

  void run() {
    const std::vector<CacheUpdate> updates = find_updates();
    if (updates.empty()) return;
    replace_ids();
    replace_masks();
    set_window(updates);
    std::vector<GraphOutput> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      if (producer_if(graph_, output.value, {Op::index_copy_}) == nullptr)
        outputs.push_back(output);
    }
    add_inputs(updates);
    int keys = 0;
    int values = 0;
    std::vector<GraphOutput> fresh_values;
    for (const CacheUpdate& update : updates) {
      if (update.transpose != kNone) {
        outputs.push_back({fmt::format("k_new_{}", keys), rewrite_keys(update, keys)});
        ++keys;
      } else {
        fresh_values.push_back({fmt::format("v_new_{}", values), rewrite_values(update, values)});
        ++values;
      }
    }
    outputs.insert(outputs.end(), fresh_values.begin(), fresh_values.end());
    graph_.set_outputs(std::move(outputs));
    graph_.remove_dead();
    if (slides_) infer_shapes();
    order_inputs();
  }

 private:
  const Node* only_user(ValueId value, Op op) const {
    const std::vector<NodeId>& readers = users_[static_cast<size_t>(value)];
    if (readers.size() != 1) return nullptr;
    const Node& reader = graph_.node(readers.front());
    return reader.op == op ? &reader : nullptr;
  }

  CacheUpdate follow(const Node& update) const {
    CacheUpdate found;
    found.update = update.id;
    found.fresh = update.inputs[2];
    ValueId end = update.output();
    if (const Node* unsqueeze = only_user(end, Op::unsqueeze)) {
      const Node* expand = only_user(unsqueeze->output(), Op::expand);
      const Node* reshape = expand == nullptr ? nullptr : only_user(expand->output(), Op::reshape);
      if (reshape == nullptr) refuse(update);
      found.reshape = reshape->id;
      end = reshape->output();
    }
    if (const Node* transpose = only_user(end, Op::transpose)) {
      found.transpose = transpose->id;
      end = transpose->output();
    }
    const Node* product = only_user(end, Op::matmul);
    if (product == nullptr || product->inputs[1] != end) refuse(update);
    if (found.transpose != kNone) found.window = window_behind(product->output());
    return found;
  }

  /// The window of the mask that is added to scores on the way to their softmax.
  int64_t window_behind(ValueId scores) const {
    while (users_[static_cast<size_t>(scores)].size() == 1) {
      const Node& reader = graph_.node(users_[static_cast<size_t>(scores)].front());
      if (reader.op == Op::add && reader.inputs.size() == 2) {
        const int64_t window = window_of(reader.inputs[reader.inputs[0] == scores ? 1 : 0]);
        return window < graph_.context() ? window : 0;
      }
      scores = reader.output();
    }
    return 0;
  }

  /// W of a condition that holds key > query - W among others; 0 where there is none.
  int64_t window_of(ValueId condition) const {
    const Node* node =
        producer_if(graph_, condition, {Op::where, Op::expand, Op::and_, Op::to, Op::gt});
    if (node == nullptr) return 0;
    if (node->op == Op::gt) {
      const Node* begin =
          node->inputs.size() == 2 ? producer_if(graph_, node->inputs[1], {Op::sub}) : nullptr;
      return begin == nullptr ? 0 : begin->attributes.integer("other");
    }
    for (const ValueId input : node->inputs) {
      if (const int64_t window = window_of(input); window > 0) return window;
    }
    return 0;
  }

  void set_window(const std::vector<CacheUpdate>& updates) {
    for (const CacheUpdate& update : updates) {
      if (update.window == 0 || update.window == graph_.window()) continue;
      if (graph_.window() != 0) {
        fail({.what = "layers have windows of several sizes",
              .where = "pass custom_static_cache",
              .found = fmt::format("{} and {}", graph_.window(), update.window)});
      }
      graph_.set_window(update.window);
    }
  }

  [[noreturn]] void refuse(const Node& update) const {
    fail({.what = "a cache is read in a way that is not attention",
          .where = "pass custom_static_cache, " + update.module});
  }

  std::vector<CacheUpdate> find_updates() const {
    std::vector<CacheUpdate> updates;
    for (const NodeId id : graph_.order()) {
      if (graph_.node(id).op == Op::index_copy_) updates.push_back(follow(graph_.node(id)));
    }
    return updates;
  }

  void replace_ids() {
    const ValueId ids = graph_.find("input_ids");
    if (ids == kNone) return;
    const Shape shape = graph_.value(ids).shape;
    graph_.replace_uses(ids, graph_.add_input("tokens", DType::i32, shape));
  }

  /// The operand of the add before each softmax that does not come from a product.
  void replace_masks() {
    std::map<ValueId, ValueId> inputs;  // what a computed mask is replaced by
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      const Node& softmax = graph_.node(id);
      if (softmax.op != Op::softmax) continue;
      const Node* masked = producer_if(graph_, softmax.inputs[0], {Op::add});
      if (masked == nullptr || masked->inputs.size() != 2) continue;
      const bool first_is_score =
          producer_if(graph_, masked->inputs[0], {Op::mul, Op::matmul}) != nullptr;
      inputs.emplace(masked->inputs[first_is_score ? 1 : 0], kNone);
    }
    const int64_t tokens = graph_.tokens_per_call();
    const ValueId all =
        graph_.add_input("attention_mask", DType::f32, {1, 1, tokens, graph_.context()});
    // Graphs of all roles have the same ids, whether or not their context is longer than a window.
    ValueId near = kNone;
    for (const auto& [mask, input] : inputs) {
      const int64_t window = window_of(mask);
      if (window == 0 || near != kNone) continue;
      const int64_t slots = ring_slots(window, graph_.context(), tokens);
      slides_ = true;
      near = graph_.add_input("window_attention_mask", DType::f32, {1, 1, tokens, slots + tokens});
    }
    for (const auto& [mask, input] : inputs) {
      const int64_t window = window_of(mask);
      graph_.replace_uses(mask, window > 0 && window < graph_.context() ? near : all);
    }
  }

  void add_inputs(const std::vector<CacheUpdate>& updates) {
    std::vector<int64_t> slots;  // by layer
    for (const CacheUpdate& update : updates) {
      if (update.transpose == kNone) continue;
      const int64_t context = graph_.context();
      const int64_t reach = update.window == 0 ? context : update.window;
      slots.push_back(ring_slots(reach, context, graph_.tokens_per_call()));
    }
    for (const bool keys : {true, false}) {
      size_t layer = 0;
      for (const CacheUpdate& update : updates) {
        if ((update.transpose != kNone) != keys) continue;
        const Shape& fresh = graph_.value(update.fresh).shape;  // [1, Hkv, AR, D]
        const int64_t past = slots.at(layer);
        const Shape shape =
            keys ? Shape{1, fresh[1], fresh[3], past} : Shape{1, fresh[1], past, fresh[3]};
        std::vector<ValueId>& caches = keys ? key_caches_ : value_caches_;
        caches.push_back(graph_.add_input(fmt::format("{}_cache_{}", keys ? "k" : "v", layer++),
                                          DType::f32, shape));
      }
    }
  }

  ValueId rewrite_keys(const CacheUpdate& update, int layer) {
    const std::string module = graph_.node(update.update).module;
    const auto insert = [&](Op op, std::vector<ValueId> inputs, Attributes attributes) {
      return graph_.insert_before(update.transpose, {.op = op,
                                                     .inputs = std::move(inputs),
                                                     .attributes = std::move(attributes),
                                                     .module = module});
    };
    const Attributes swap_last{{"dim0", int64_t{2}}, {"dim1", int64_t{3}}};
    const ValueId fresh = insert(Op::transpose, {update.fresh}, swap_last);  // [1, Hkv, D, AR]
    ValueId keys = insert(Op::cat, {key_caches_[static_cast<size_t>(layer)], fresh},
                          {{"dim", int64_t{3}}});  // [1, Hkv, D, CL]
    if (update.reshape != kNone) keys = for_every_head(update, keys, update.transpose);
    graph_.replace_uses(graph_.node(update.transpose).output(), keys);
    return fresh;
  }

  /// [1, Hkv, a, b] -> [1, H, a, b], by new nodes before `where`.
  ValueId for_every_head(const CacheUpdate& update, ValueId pairs, NodeId where) {
    const std::string module = graph_.node(update.update).module;
    const auto insert = [&](Op op, ValueId input, Attributes attributes) {
      return graph_.insert_before(
          where,
          {.op = op, .inputs = {input}, .attributes = std::move(attributes), .module = module});
    };
    const Shape all = graph_.value(pairs).shape;
    const int64_t heads = graph_.value(graph_.node(update.reshape).output()).shape[1];
    const Shape grouped{1, all[1], heads / all[1], all[2], all[3]};
    const ValueId parted = insert(Op::unsqueeze, pairs, {{"dim", int64_t{2}}});
    const ValueId expanded = insert(Op::expand, parted, {{"sizes", grouped}});
    return insert(Op::reshape, expanded, {{"sizes", Shape{1, heads, all[2], all[3]}}});
  }

  ValueId rewrite_values(const CacheUpdate& update, int layer) {
    const Node node = graph_.node(update.update);
    const ValueId values = graph_.insert_before(
        update.update, {.op = Op::cat,
                        .inputs = {value_caches_[static_cast<size_t>(layer)], update.fresh},
                        .attributes = {{"dim", int64_t{2}}},
                        .module = node.module});  // [1, Hkv, CL, D]
    if (slides_ && update.reshape != kNone) {
      const ValueId whole = graph_.node(update.reshape).output();
      graph_.replace_uses(whole, for_every_head(update, values, update.update));
    } else {
      graph_.replace_uses(node.output(), values);
    }
    return update.fresh;
  }

  /// Rings are shorter than the caches that they take the place of, and so are the scores.
  void infer_shapes() {
    for (const NodeId id : graph_.order()) {
      graph_.set_inputs_and_shapes(id, graph_.node(id).inputs);
    }
  }

  void order_inputs() {
    std::vector<ValueId> order;
    for (const std::string_view name :
         {"tokens", "attention_mask", "window_attention_mask", "position"}) {
      for (const ValueId id : graph_.inputs()) {
        if (graph_.value(id).name == name) order.push_back(id);
      }
    }
    order.insert(order.end(), key_caches_.begin(), key_caches_.end());
    order.insert(order.end(), value_caches_.begin(), value_caches_.end());
    for (const ValueId id : graph_.inputs()) {
      if (std::find(order.begin(), order.end(), id) == order.end()) order.push_back(id);
    }
    graph_.set_input_order(std::move(order));
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<ValueId> key_caches_;
  std::vector<ValueId> value_caches_;
  bool slides_ = false;  // some layer has a window, be it longer than the context
};

}  // namespace

void custom_static_cache(Graph& graph) { StaticCache(graph).run(); }

}  // namespace lathe
