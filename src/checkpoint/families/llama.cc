#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"
#include "checkpoint/families/rope_fields.h"

namespace lathe {

// `pretraining_tp` changes nothing: transformers ignores it.
void read_llama(const JsonFields& config, ModelConfig& out) {
  read_sizes(config,
             {.vocab_size = 32000,
              .hidden_size = 4096,
              .intermediate_size = 11008,
              .layers = 32,
              .heads = 32,
              .kv_heads = {},
              .head_dim = {},
              .max_position_embeddings = 2048},
             out);
  out.hidden_act = read_activation(config, "hidden_act", Activation::silu);
  read_attention_bias(config, out);
  out.mlp_bias = read_flag(config, "mlp_bias", false);
  out.tie_word_embeddings = read_flag(config, "tie_word_embeddings", false);
  read_rope(config, {}, out);
}

}  // namespace lathe
