#include "checkpoint/families/gemma.h"

#include <cmath>

#include "checkpoint/families/family.h"
#include "checkpoint/families/rope_fields.h"
#include "support/error.h"

namespace lathe {
namespace {

/// Old configs say "gelu" and mean the approximation by tanh, which all Gemmas were trained with.
Activation read_gelu(const JsonFields& config, std::string_view key, Activation missing) {
  const Activation found = read_activation(config, key, missing);
  return found == Activation::gelu ? Activation::gelu_tanh : found;
}

/// `hidden_act` counts; a `hidden_activation` beside it must mean the same.
Activation read_both_activations(const JsonFields& config) {
  const Activation activation = read_gelu(config, "hidden_act", Activation::gelu_tanh);
  constexpr std::string_view kOther = "hidden_activation";
  if (read_gelu(config, kOther, activation) != activation) {
    fail({.what = "two fields give two activations",
          .where = config.place(kOther),
          .expected = "what hidden_act says",
          .found = describe(*config.find(kOther))});
  }
  return activation;
}

}  // namespace

void read_gemma_base(const JsonFields& config, const SizeDefaults& defaults, ModelConfig& out) {
  refuse_flag(config, "use_bidirectional_attention", "attention to later tokens");
  read_sizes(config, defaults, out);
  read_attention_bias(config, out);
  out.tie_word_embeddings = read_flag(config, "tie_word_embeddings", true);
  out.embedding_multiplier = std::sqrt(static_cast<double>(out.hidden_size));
  out.norm_adds_one = true;
}

void read_gemma2_base(const JsonFields& config, const SizeDefaults& defaults, ModelConfig& out) {
  read_gemma_base(config, defaults, out);
  out.hidden_act = read_activation(config, "hidden_activation", Activation::gelu_tanh);
  const double scalar =
      config.optional_number("query_pre_attn_scalar", 1e-6, kMaxFactor).value_or(256.0);
  out.attention_scale = 1.0 / std::sqrt(scalar);
}

void read_sliding_layers(const JsonFields& config, int64_t pattern, ModelConfig& out) {
  if (!read_layer_types(config, out)) {
    for (int64_t i = 0; i < out.layers; ++i) {
      out.layer_configs[static_cast<size_t>(i)].sliding = (i + 1) % pattern != 0;
    }
  }
  set_window(config, read_window(config, 4096), out);
}

void read_gemma(const JsonFields& config, ModelConfig& out) {
  read_gemma_base(config,
                  {.vocab_size = 256000,
                   .hidden_size = 3072,
                   .intermediate_size = 24576,
                   .layers = 28,
                   .heads = 16,
                   .kv_heads = 16,
                   .head_dim = 256,
                   .max_position_embeddings = 8192},
                  out);
  out.hidden_act = read_both_activations(config);
  read_rope(config, {}, out);
}

}  // namespace lathe
