#include <fmt/format.h>

#include "frontend/hf/blocks.h"
#include "frontend/hf/families.h"
#include "frontend/rope.h"

namespace lathe::hf {
namespace {

ValueId decoder_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden) {
  const ModuleBuilder::Scope scope(b, fmt::format("layers.{}", layer));
  const Normalized before = rms_norm(b, "input_layernorm", hidden);
  const ValueId attended = b.add(before.input, attention(b, call, layer, before.output));
  const Normalized after = rms_norm(b, "post_attention_layernorm", attended);
  return b.add(after.input, gated_mlp(b, after.output));
}

}  // namespace

Graph build_llama(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  const ModelConfig& config = checkpoint->config();
  Graph graph(shape.role, shape.tokens_per_call, shape.context);
  ModuleBuilder b(graph, checkpoint);

  const ValueId ids = graph.add_input("input_ids", DType::i64, {1, shape.tokens_per_call});
  const ValueId cache_position =
      graph.add_input("cache_position", DType::i64, {shape.tokens_per_call});
  CallContext call;
  call.shape = shape;
  call.caches = cache_inputs(b, shape, cache_position);

  const std::string embedding = "model.embed_tokens.weight";
  ValueId hidden = kNone;  // [1, AR, E]
  {
    const ModuleBuilder::Scope model(b, "model");
    {
      const ModuleBuilder::Scope scope(b, "embed_tokens");
      hidden = b.apply(Op::embedding, {b.parameter("weight"), ids});
    }
    positions_and_mask(b, call);
    rotary_embedding(b, call, rope_inverse_frequencies(config.rope, config.head_dim), 1.0);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      hidden = decoder_layer(b, call, static_cast<size_t>(layer), hidden);
    }
    hidden = b.apply(Op::alias, {rms_norm(b, "norm", hidden).output});
  }
  const ModuleBuilder::Scope head(b, "lm_head");
  const ValueId weight = b.parameter_at(config.tie_word_embeddings ? embedding : "lm_head.weight");
  graph.add_output("logits", b.apply(Op::linear, {hidden, weight}));
  return graph;
}

}  // namespace lathe::hf
