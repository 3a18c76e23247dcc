#include <utility>

#include "frontend/static_form/causal_lm.h"
#include "frontend/static_form/families.h"

namespace lathe::static_form {
namespace {

/// Norms stand behind attention and MLP, and nowhere else.
ValueId decoder_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden) {
  const ValueId attended = attention(b, call, layer, hidden, {});
  const ValueId middle = b.add(hidden, rms_norm(b, "post_attention_layernorm", attended));
  const ValueId fed = gated_mlp(b, call, middle, Weights::separate);
  return b.add(middle, rms_norm(b, "post_feedforward_layernorm", fed));
}

}  // namespace

Graph build_olmo2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                  const StaticForm& form) {
  return build_causal_lm(std::move(checkpoint), shape, form, decoder_layer);
}

}  // namespace lathe::static_form
