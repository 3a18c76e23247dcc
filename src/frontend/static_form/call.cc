#include "frontend/static_form/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "frontend/rope.h"
#include "graph/rotary_table.h"

namespace lathe::static_form {
namespace {

bool is_sliding(const LayerConfig& layer) { return layer.sliding; }

/// S of a layer.
int64_t slots_of(const ModelConfig& config, const GraphShape& shape, const LayerConfig& layer) {
  const int64_t reach = layer.sliding ? config.sliding_window : shape.context;
  return ring_slots(reach, shape.context, shape.tokens_per_call);
}

/// Rows of a table [CL, R / 2] at the positions of the call: [1, 1, AR, R / 2].
ValueId rotary_rows(ModuleBuilder& b, const Call& call, Op function, const std::string& prefix,
                    const std::vector<float>& inverse_frequencies, double scaling) {
  const Shape shape{call.shape.context, static_cast<int64_t>(inverse_frequencies.size())};
  const ValueId table =
      b.buffer(prefix + (function == Op::cos ? "cos_table" : "sin_table"), shape,
               rotary_table(function, inverse_frequencies, call.shape.context, scaling));
  return b.unsqueeze(b.apply(Op::embedding, {table, call.position}), 1);
}

/// `prefix` tells the tables of several rotations apart.
Rotation rotation(ModuleBuilder& b, const Call& call, const RopeConfig& rope,
                  const std::string& prefix) {
  const std::vector<float> inverse_frequencies =
      rope_inverse_frequencies(rope, b.config().rotary_dim, call.shape.context);
  const auto rows = [&](Op function) {
    return rotary_rows(b, call, function, prefix, inverse_frequencies, rope.attention_factor);
  };
  const ValueId cos = rows(Op::cos);
  return {cos, rows(Op::sin)};
}

}  // namespace

Call call_inputs(ModuleBuilder& b, const GraphShape& shape, const StaticForm& form) {
  const ModelConfig& config = b.config();
  const std::vector<LayerConfig>& layers = config.layer_configs;
  const int64_t tokens = shape.tokens_per_call;
  const bool slides = std::any_of(layers.begin(), layers.end(), is_sliding);
  Graph& graph = b.graph();
  Call call;
  call.shape = shape;
  call.form = form;
  call.tokens = graph.add_input("tokens", DType::i32, {1, tokens});
  call.mask = graph.add_input("attention_mask", DType::f32, {1, 1, tokens, shape.context});
  call.window_mask = call.mask;
  if (slides) {
    // An input in the graphs of all roles, for the sake of their ids; read where there are rings.
    const int64_t slots = slots_of(config, shape, {.sliding = true});
    const ValueId near =
        graph.add_input("window_attention_mask", DType::f32, {1, 1, tokens, slots + tokens});
    if (config.sliding_window < shape.context) {
      graph.set_window(config.sliding_window);
      call.window_mask = near;
    }
  }
  call.position = graph.add_input("position", DType::i32, {1, tokens});
  call.caches.resize(layers.size());
  call.fresh.resize(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const int64_t slots = slots_of(config, shape, layers[i]);
    call.caches[i].keys = graph.add_input(fmt::format("k_cache_{}", i), DType::f32,
                                          {1, config.kv_heads, config.head_dim, slots});
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const int64_t slots = slots_of(config, shape, layers[i]);
    call.caches[i].values = graph.add_input(fmt::format("v_cache_{}", i), DType::f32,
                                            {1, config.kv_heads, slots, config.head_dim});
  }
  return call;
}

void call_outputs(ModuleBuilder& b, const Call& call, ValueId logits) {
  Graph& graph = b.graph();
  graph.add_output("logits", logits);
  for (size_t i = 0; i < call.fresh.size(); ++i) {
    graph.add_output(fmt::format("k_new_{}", i), call.fresh[i].keys);
  }
  for (size_t i = 0; i < call.fresh.size(); ++i) {
    graph.add_output(fmt::format("v_new_{}", i), call.fresh[i].values);
  }
  graph.remove_dead();  // a mask that no layer reads
}

void rotary_embedding(ModuleBuilder& b, Call& call) {
  const ModuleBuilder::Scope scope(b, "rotary_emb");
  const ModelConfig& config = b.config();
  if (!config.local_rope) {
    call.rotation = rotation(b, call, config.rope, "");
    call.local_rotation = call.rotation;
    return;
  }
  call.local_rotation = rotation(b, call, *config.local_rope, "sliding_attention_");
  call.rotation = rotation(b, call, config.rope, "full_attention_");
}

}  // namespace lathe::static_form
