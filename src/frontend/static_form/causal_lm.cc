#include "frontend/static_form/causal_lm.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace lathe::static_form {
namespace {

const std::string kEmbedding = "model.embed_tokens.weight";

/// Rows of the table by id, times the multiplier of the config: [1, AR, E].
ValueId embed(ModuleBuilder& b, const Call& call) {
  const ModuleBuilder::Scope scope(b, "embed_tokens");
  const ValueId rows = b.apply(Op::embedding, {b.parameter("weight"), call.tokens});
  return times(b, rows, b.config().embedding_multiplier);
}

/// From the last hidden states to logits, scaled and capped as the config says.
ValueId head(ModuleBuilder& b, ValueId hidden) {
  const ModuleBuilder::Scope scope(b, "lm_head");
  const ModelConfig& config = b.config();
  const ValueId weight = b.filter(config.tie_word_embeddings ? kEmbedding : "lm_head.weight");
  ValueId logits = b.apply(Op::conv2d, {channels_first(b, hidden), weight});
  if (config.logits_scaling != 1.0) {
    logits = b.apply(Op::div, {logits}, {{"other", config.logits_scaling}});
  }
  if (config.final_softcap) logits = b.softcapped(logits, *config.final_softcap);
  return rows_of(b, logits);
}

}  // namespace

Graph build_causal_lm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                      const StaticForm& form, DecoderLayer decoder_layer) {
  const int64_t layers = checkpoint->config().layers;
  Graph graph(shape.role, shape.tokens_per_call, shape.context);
  ModuleBuilder b(graph, std::move(checkpoint));
  Call call = call_inputs(b, shape, form);
  ValueId hidden = kNone;  // [1, AR, E]
  {
    const ModuleBuilder::Scope model(b, "model");
    hidden = embed(b, call);
    rotary_embedding(b, call);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const ModuleBuilder::Scope scope(b, fmt::format("layers.{}", layer));
      hidden = decoder_layer(b, call, static_cast<size_t>(layer), hidden);
    }
    hidden = rms_norm(b, "norm", hidden);
  }
  call_outputs(b, call, head(b, hidden));
  return graph;
}

ValueId pre_norm_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden,
                       const LayerWeights& weights) {
  const ValueId attended =
      b.add(hidden, attention(b, call, layer, rms_norm(b, "input_layernorm", hidden),
                              {.weights = weights.attention}));
  const ValueId normalized = rms_norm(b, "post_attention_layernorm", attended);
  return b.add(attended, gated_mlp(b, call, normalized, weights.mlp));
}

}  // namespace lathe::static_form
