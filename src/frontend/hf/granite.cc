#include "frontend/hf/causal_lm.h"
#include "frontend/hf/families.h"

namespace lathe::hf {
namespace {

ValueId multiply(ModuleBuilder& b, const char* /*branch*/, ValueId x) {
  return b.mul(x, b.config().residual_multiplier);
}

ValueId decoder_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  return pre_norm_layer(b, call, layer, hidden, {.finish = multiply});
}

}  // namespace

Graph build_granite(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  return build_causal_lm(std::move(checkpoint), shape,
                         {.embed = embed_and_multiply, .decoder_layer = decoder_layer});
}

}  // namespace lathe::hf
