#include <string>

#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"
#include "checkpoint/families/rope_fields.h"
#include "support/error.h"

namespace lathe {
namespace {

/// `no_rope_layers` has a 1 for each layer that rotates (despite its name); without it every
/// `no_rope_layer_interval`-th layer does not.
void read_rotating_layers(const JsonFields& config, ModelConfig& out) {
  constexpr std::string_view kKey = "no_rope_layers";
  const int64_t interval =
      config.optional_integer("no_rope_layer_interval", 1, kMaxPositions).value_or(4);
  std::vector<int64_t> rotary;
  if (config.find(kKey) != nullptr) {
    rotary = config.integers(kKey, 0, 1);
  } else {
    for (int64_t i = 0; i < out.layers; ++i) rotary.push_back((i + 1) % interval != 0 ? 1 : 0);
  }
  if (rotary.size() < out.layer_configs.size()) {
    fail({.what = "the list is shorter than the model has layers",
          .where = config.place(kKey),
          .expected = "at least " + std::to_string(out.layers),
          .found = std::to_string(rotary.size())});
  }
  for (size_t i = 0; i < out.layer_configs.size(); ++i) {
    out.layer_configs[i].rotary = rotary[i] == 1;
  }
}

/// Layers without rotation slide, where `use_sliding_window` says so and no `layer_types` say
/// otherwise.
void read_sliding_layers(const JsonFields& config, ModelConfig& out) {
  const bool used = read_flag(config, "use_sliding_window", false);
  const auto window = used ? read_window(config, {}) : std::nullopt;
  if (!read_layer_types(config, out) && window) {
    for (LayerConfig& layer : out.layer_configs) layer.sliding = !layer.rotary;
  }
  set_window(config, window, out);
}

}  // namespace

void read_smollm3(const JsonFields& config, ModelConfig& out) {
  read_sizes(config,
             {.vocab_size = 128256,
              .hidden_size = 2048,
              .intermediate_size = 11008,
              .layers = 36,
              .heads = 16,
              .kv_heads = 4,
              .head_dim = {},
              .max_position_embeddings = 32768},
             out);
  out.hidden_act = read_activation(config, "hidden_act", Activation::silu);
  read_attention_bias(config, out);
  out.mlp_bias = read_flag(config, "mlp_bias", false);
  out.tie_word_embeddings = read_flag(config, "tie_word_embeddings", true);
  read_rotating_layers(config, out);
  read_sliding_layers(config, out);
  read_rope(config, {.theta = 2e6}, out);
}

}  // namespace lathe
