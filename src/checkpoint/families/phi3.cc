#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"
#include "checkpoint/families/rope_fields.h"

namespace lathe {

void read_phi3(const JsonFields& config, ModelConfig& out) {
  read_sizes(config,
             {.vocab_size = 32064,
              .hidden_size = 3072,
              .intermediate_size = 8192,
              .layers = 32,
              .heads = 32,
              .kv_heads = {},
              .head_dim = {},
              .max_position_embeddings = 4096,
              .rms_norm_eps = 1e-5},
             out);
  out.hidden_act = read_activation(config, "hidden_act", Activation::silu);
  out.tie_word_embeddings = read_flag(config, "tie_word_embeddings", false);
  set_window_of_all_layers(config, read_window(config, {}), out);
  read_rope(config,
            {.partial_rotary_factor = 1.0,
             .original_max_position_embeddings = 4096,
             .longrope_only = true},
            out);
}

}  // namespace lathe
