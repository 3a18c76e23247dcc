#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"
#include "checkpoint/families/rope_fields.h"

namespace lathe {

void read_mistral(const JsonFields& config, ModelConfig& out) {
  read_sizes(config,
             {.vocab_size = 32000,
              .hidden_size = 4096,
              .intermediate_size = 14336,
              .layers = 32,
              .heads = 32,
              .kv_heads = 8,
              .head_dim = {},
              .max_position_embeddings = 131072},
             out);
  out.hidden_act = read_activation(config, "hidden_act", Activation::silu);
  out.tie_word_embeddings = read_flag(config, "tie_word_embeddings", false);
  set_window_of_all_layers(config, read_window(config, 4096), out);
  read_rope(config, {}, out);
}

}  // namespace lathe
