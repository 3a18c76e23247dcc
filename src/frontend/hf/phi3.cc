#include <fmt/format.h>

#include "frontend/hf/causal_lm.h"
#include "frontend/hf/families.h"

namespace lathe::hf {
namespace {

ValueId drop_out(ModuleBuilder& b, const char* branch, ValueId x) {
  const ModuleBuilder::Scope scope(b, fmt::format("resid_{}_dropout", branch));
  return b.apply(Op::dropout, {x});
}

ValueId decoder_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  return pre_norm_layer(b, call, layer, hidden,
                        {.attention = {.project = project_packed, .rotate = rotate_first_values},
                         .mlp = packed_mlp,
                         .finish = drop_out});
}

}  // namespace

Graph build_phi3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  return build_causal_lm(std::move(checkpoint), shape,
                         {.embed = embed, .decoder_layer = decoder_layer});
}

}  // namespace lathe::hf
