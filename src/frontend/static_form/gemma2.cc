#include <utility>

#include "frontend/static_form/causal_lm.h"
#include "frontend/static_form/families.h"

namespace lathe::static_form {
namespace {

/// Norms in front of attention and MLP and behind them.
ValueId four_norm_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden,
                        const AttentionForm& form) {
  const ValueId attended = attention(b, call, layer, rms_norm(b, "input_layernorm", hidden), form);
  const ValueId middle = b.add(hidden, rms_norm(b, "post_attention_layernorm", attended));
  const ValueId fed =
      gated_mlp(b, call, rms_norm(b, "pre_feedforward_layernorm", middle), Weights::separate);
  return b.add(middle, rms_norm(b, "post_feedforward_layernorm", fed));
}

ValueId gemma2_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden) {
  return four_norm_layer(b, call, layer, hidden, {});
}

ValueId gemma3_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden) {
  return four_norm_layer(b, call, layer, hidden, {.head_norm = HeadNorm::after_transpose});
}

}  // namespace

Graph build_gemma2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                   const StaticForm& form) {
  return build_causal_lm(std::move(checkpoint), shape, form, gemma2_layer);
}

Graph build_gemma3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                   const StaticForm& form) {
  return build_causal_lm(std::move(checkpoint), shape, form, gemma3_layer);
}

}  // namespace lathe::static_form
