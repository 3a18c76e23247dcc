#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"
#include "checkpoint/families/rope_fields.h"

namespace lathe {
namespace {

/// Layers from `max_window_layers` on slide, where `use_sliding_window` says so and no
/// `layer_types` say otherwise.
void read_sliding_layers(const JsonFields& config, ModelConfig& out) {
  const bool used = read_flag(config, "use_sliding_window", false);
  const auto window = used ? read_window(config, 4096) : std::nullopt;
  const int64_t first = config.optional_integer("max_window_layers", 0, kMaxPositions).value_or(28);
  if (!read_layer_types(config, out) && window) {
    for (int64_t i = first; i < out.layers; ++i) {
      out.layer_configs[static_cast<size_t>(i)].sliding = true;
    }
  }
  set_window(config, window, out);
}

void read_qwen(const JsonFields& config, std::optional<int64_t> head_dim, ModelConfig& out) {
  read_sizes(config,
             {.vocab_size = 151936,
              .hidden_size = 4096,
              .intermediate_size = 22016,
              .layers = 32,
              .heads = 32,
              .kv_heads = 32,
              .head_dim = head_dim,
              .max_position_embeddings = 32768},
             out);
  out.hidden_act = read_activation(config, "hidden_act", Activation::silu);
  out.tie_word_embeddings = read_flag(config, "tie_word_embeddings", false);
  read_sliding_layers(config, out);
  read_rope(config, {}, out);
}

}  // namespace

void read_qwen2(const JsonFields& config, ModelConfig& out) {
  read_qwen(config, {}, out);
  out.qkv_bias = true;  // always, and never of o_proj
}

void read_qwen3(const JsonFields& config, ModelConfig& out) {
  read_qwen(config, 128, out);
  read_attention_bias(config, out);
  out.qk_norm = QkNorm::per_head;
}

}  // namespace lathe
