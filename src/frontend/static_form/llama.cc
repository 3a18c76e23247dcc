#include <fmt/format.h>

#include "frontend/rope.h"
#include "frontend/static_form/blocks.h"
#include "frontend/static_form/families.h"

namespace lathe::static_form {
namespace {

ValueId decoder_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden) {
  const ModuleBuilder::Scope scope(b, fmt::format("layers.{}", layer));
  const ValueId attended =
      b.add(hidden, attention(b, call, layer, rms_norm(b, "input_layernorm", hidden)));
  return b.add(attended, gated_mlp(b, call, rms_norm(b, "post_attention_layernorm", attended)));
}

}  // namespace

Graph build_llama(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                  const StaticForm& form) {
  const ModelConfig& config = checkpoint->config();
  Graph graph(shape.role, shape.tokens_per_call, shape.context);
  ModuleBuilder b(graph, checkpoint);
  Call call = call_inputs(b, shape, form);

  ValueId hidden = kNone;  // [1, AR, E]
  {
    const ModuleBuilder::Scope model(b, "model");
    {
      const ModuleBuilder::Scope scope(b, "embed_tokens");
      hidden = b.apply(Op::embedding, {b.parameter("weight"), call.tokens});
    }
    rotary_embedding(b, call,
                     rope_inverse_frequencies(config.rope, config.rotary_dim, shape.context),
                     config.rope.attention_factor);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      hidden = decoder_layer(b, call, static_cast<size_t>(layer), hidden);
    }
    hidden = rms_norm(b, "norm", hidden);
  }
  const ModuleBuilder::Scope head(b, "lm_head");
  const ValueId channels = channels_first(b, hidden);
  const ValueId weight =
      b.filter(config.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
  call_outputs(b, call, rows_of(b, b.apply(Op::conv2d, {channels, weight})));
  return graph;
}

}  // namespace lathe::static_form
