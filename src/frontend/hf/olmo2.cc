#include "frontend/hf/causal_lm.h"
#include "frontend/hf/families.h"

namespace lathe::hf {
namespace {

/// Norms stand behind attention and MLP, and nowhere else.
ValueId decoder_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  const ValueId attended =
      attention(b, call, layer, hidden,
                {.project = project_and_norm_whole, .rotate = rotate_halves_and_cast});
  const ValueId middle = b.add(hidden, olmo2_norm(b, "post_attention_layernorm", attended).output);
  const ValueId fed = gated_mlp(b, middle);
  return b.add(middle, olmo2_norm(b, "post_feedforward_layernorm", fed).output);
}

}  // namespace

Graph build_olmo2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  return build_causal_lm(std::move(checkpoint), shape,
                         {.embed = embed,
                          .decoder_layer = decoder_layer,
                          .norm = olmo2_norm,
                          .casts_rotation = false});
}

}  // namespace lathe::hf
