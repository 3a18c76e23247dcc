#include "frontend/hf/causal_lm.h"
#include "frontend/hf/families.h"

namespace lathe::hf {
namespace {

ValueId decoder_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  return pre_norm_layer(b, call, layer, hidden, {.norm = gemma_norm});
}

/// Gemma 2 and 3: norms in front of attention and MLP and behind them.
ValueId four_norm_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden,
                        const AttentionForm& form) {
  const Normalized before = gemma_norm(b, "input_layernorm", hidden);
  const ValueId attended = attention(b, call, layer, before.output, form);
  const ValueId middle =
      b.add(before.input, gemma_norm(b, "post_attention_layernorm", attended).output);
  const Normalized after = gemma_norm(b, "pre_feedforward_layernorm", middle);
  const ValueId fed = gated_mlp(b, after.output);
  return b.add(after.input, gemma_norm(b, "post_feedforward_layernorm", fed).output);
}

ValueId gemma2_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  return four_norm_layer(b, call, layer, hidden, {});
}

ValueId gemma3_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  return four_norm_layer(b, call, layer, hidden, {.project = project_then_norm});
}

}  // namespace

Graph build_gemma(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  return build_causal_lm(
      std::move(checkpoint), shape,
      {.embed = embed_scaled, .decoder_layer = decoder_layer, .norm = gemma_norm});
}

Graph build_gemma2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  return build_causal_lm(
      std::move(checkpoint), shape,
      {.embed = embed_scaled, .decoder_layer = gemma2_layer, .norm = gemma_norm});
}

Graph build_gemma3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  return build_causal_lm(
      std::move(checkpoint), shape,
      {.embed = embed_scaled, .decoder_layer = gemma3_layer, .norm = gemma_norm});
}

}  // namespace lathe::hf
