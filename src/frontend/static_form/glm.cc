#include <utility>

#include "frontend/static_form/causal_lm.h"
#include "frontend/static_form/families.h"

namespace lathe::static_form {
namespace {

ValueId decoder_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden) {
  return pre_norm_layer(b, call, layer, hidden, {.mlp = Weights::packed});
}

}  // namespace

Graph build_glm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                const StaticForm& form) {
  return build_causal_lm(std::move(checkpoint), shape, form, decoder_layer);
}

}  // namespace lathe::static_form
