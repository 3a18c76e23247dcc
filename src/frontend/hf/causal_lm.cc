#include "frontend/hf/causal_lm.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace lathe::hf {
namespace {

const std::string kEmbedding = "model.embed_tokens.weight";

/// From the last hidden states to logits, scaled and capped as the config says.
ValueId head(ModuleBuilder& b, ValueId hidden) {
  const ModelConfig& config = b.config();
  ValueId logits = kNone;
  {
    const ModuleBuilder::Scope scope(b, "lm_head");
    const ValueId weight =
        b.parameter_at(config.tie_word_embeddings ? kEmbedding : "lm_head.weight");
    logits = b.apply(Op::linear, {hidden, weight});
  }
  if (config.logits_scaling != 1.0) {
    logits = b.apply(Op::div, {logits}, {{"other", config.logits_scaling}});
  }
  return config.final_softcap ? b.softcapped(logits, *config.final_softcap) : logits;
}

}  // namespace

Graph build_causal_lm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                      const Form& form) {
  const ModelConfig& config = checkpoint->config();
  Graph graph(shape.role, shape.tokens_per_call, shape.context);
  ModuleBuilder b(graph, std::move(checkpoint));

  const ValueId ids = graph.add_input("input_ids", DType::i64, {1, shape.tokens_per_call});
  const ValueId cache_position =
      graph.add_input("cache_position", DType::i64, {shape.tokens_per_call});
  CallContext call;
  call.shape = shape;
  call.caches = cache_inputs(b, shape, cache_position);

  ValueId hidden = kNone;  // [1, AR, E]
  {
    const ModuleBuilder::Scope model(b, "model");
    hidden = form.embed(b, ids);
    positions_and_masks(b, call);
    rotary_embedding(b, call, form.casts_rotation);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      const ModuleBuilder::Scope scope(b, fmt::format("layers.{}", layer));
      hidden = form.decoder_layer(b, call, static_cast<size_t>(layer), hidden);
    }
    hidden = b.apply(Op::alias, {form.norm(b, "norm", hidden).output});
  }
  graph.add_output("logits", head(b, hidden));
  return graph;
}

ValueId embed(ModuleBuilder& b, ValueId ids) {
  const ModuleBuilder::Scope scope(b, "embed_tokens");
  return b.apply(Op::embedding, {b.parameter("weight"), ids});
}

ValueId embed_and_multiply(ModuleBuilder& b, ValueId ids) {
  return b.mul(embed(b, ids), b.config().embedding_multiplier);
}

ValueId embed_scaled(ModuleBuilder& b, ValueId ids) {
  const ValueId rows = embed(b, ids);
  const ModuleBuilder::Scope scope(b, "embed_tokens");
  const auto scale = static_cast<float>(b.config().embedding_multiplier);
  return b.mul(rows, b.to(b.buffer("embed_scale", {}, {scale}), DType::f32));
}

ValueId pre_norm_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden,
                       const PreNormForm& form) {
  const auto finished = [&](const char* branch, ValueId x) {
    return form.finish == nullptr ? x : form.finish(b, branch, x);
  };
  const Normalized before = form.norm(b, "input_layernorm", hidden);
  const ValueId attended = attention(b, call, layer, before.output, form.attention);
  const ValueId middle = b.add(before.input, finished("attn", attended));
  const Normalized after = form.norm(b, "post_attention_layernorm", middle);
  return b.add(after.input, finished("mlp", form.mlp(b, after.output)));
}

}  // namespace lathe::hf
