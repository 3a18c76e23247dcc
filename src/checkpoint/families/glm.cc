#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"
#include "checkpoint/families/rope_fields.h"

namespace lathe {

void read_glm(const JsonFields& config, ModelConfig& out) {
  read_sizes(config,
             {.vocab_size = 151552,
              .hidden_size = 4096,
              .intermediate_size = 13696,
              .layers = 40,
              .heads = 32,
              .kv_heads = 2,
              .head_dim = 128,
              .max_position_embeddings = 131072,
              .rms_norm_eps = 1.5625e-7},
             out);
  out.hidden_act = read_activation(config, "hidden_act", Activation::silu);
  out.qkv_bias = read_flag(config, "attention_bias", true);
  out.tie_word_embeddings = read_flag(config, "tie_word_embeddings", false);
  out.interleaved_rotary = true;
  read_rope(config, {.partial_rotary_factor = 0.5}, out);
}

}  // namespace lathe
