#include <algorithm>
#include <limits>

#include "frontend/hf/call.h"

namespace lathe::hf {
namespace {

/// Positions of the tokens of a call and of all slots, ready to be compared with each other.
struct Indices {
  ValueId query = kNone;  ///< i64 [1, 1, AR, 1]
  ValueId key = kNone;    ///< i64 [1, 1, 1, CL]
};

Indices indices(ModuleBuilder& b, CallContext& call) {
  const int64_t tokens = call.shape.tokens_per_call;
  LayerCache& first = call.caches.front();
  first.filled = b.to(first.filled, DType::i64);
  // The mask helpers make two ranges whose values nothing reads.
  b.arange(tokens);
  b.arange(tokens);
  const ValueId query = b.add(b.arange(tokens), first.filled);   // [AR]
  const ValueId key = b.add(b.arange(call.shape.context), 0.0);  // [CL]
  const ValueId query_index = b.unsqueeze(b.unsqueeze(b.unsqueeze(query, 0), 1), 3);
  const ValueId key_index = b.unsqueeze(b.unsqueeze(b.unsqueeze(key, 0), 1), 2);
  return {query_index, key_index};
}

/// Conditions [1, 1, AR, CL] as a mask.
ValueId as_mask(ModuleBuilder& b, const CallContext& call, ValueId visible) {
  const ValueId all = b.expand(visible, {1, -1, call.shape.tokens_per_call, call.shape.context});
  const ValueId zero = b.apply(Op::zeros, {}, {{"sizes", Shape{}}});
  const double lowest = std::numeric_limits<float>::lowest();
  return b.apply(Op::where, {all, zero}, {{"other", lowest}});
}

ValueId causal_mask(ModuleBuilder& b, CallContext& call) {
  const Indices at = indices(b, call);
  return as_mask(b, call, b.apply(Op::le, {at.key, at.query}));
}

/// Keys at most `window` positions back.
ValueId window_mask(ModuleBuilder& b, CallContext& call, int64_t window) {
  const Indices at = indices(b, call);
  const ValueId everything = b.apply(Op::new_ones, {at.query}, {{"sizes", Shape{}}});
  const ValueId begin = b.apply(Op::sub, {at.query}, {{"other", window}});
  const ValueId near = b.to(b.apply(Op::gt, {at.key, begin}), DType::boolean);
  const ValueId inside = b.apply(Op::and_, {everything, near});
  const ValueId past = b.to(b.apply(Op::le, {at.key, at.query}), DType::boolean);
  return as_mask(b, call, b.apply(Op::and_, {inside, past}));
}

}  // namespace

void positions_and_masks(ModuleBuilder& b, CallContext& call) {
  const LayerCache& first = call.caches.front();
  call.position_ids = b.unsqueeze(b.add(b.arange(call.shape.tokens_per_call), first.filled), 0);
  const auto& layers = b.config().layer_configs;
  const auto slides = [](const LayerConfig& layer) { return layer.sliding; };
  if (!std::all_of(layers.begin(), layers.end(), slides)) call.mask = causal_mask(b, call);
  if (std::any_of(layers.begin(), layers.end(), slides)) {
    call.window_mask = window_mask(b, call, b.config().sliding_window);
  }
}

}  // namespace lathe::hf
