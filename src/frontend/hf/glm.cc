#include "frontend/hf/causal_lm.h"
#include "frontend/hf/families.h"

namespace lathe::hf {
namespace {

ValueId decoder_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  return pre_norm_layer(b, call, layer, hidden,
                        {.attention = {.rotate = rotate_first_pairs}, .mlp = packed_mlp});
}

}  // namespace

Graph build_glm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  return build_causal_lm(std::move(checkpoint), shape,
                         {.embed = embed, .decoder_layer = decoder_layer});
}

}  // namespace lathe::hf
