#include "checkpoint/families/family.h"
#include "checkpoint/families/gemma.h"
#include "checkpoint/families/rope_fields.h"

namespace lathe {
void read_gemma2(const JsonFields& config, ModelConfig& out) {
  read_gemma2_base(config,
                   {.vocab_size = 256000,
                    .hidden_size = 2304,
                    .intermediate_size = 9216,
                    .layers = 26,
                    .heads = 8,
                    .kv_heads = 4,
                    .head_dim = 256,
                    .max_position_embeddings = 8192},
                   out);
  out.attention_softcap = read_softcap(config, "attn_logit_softcapping", 50.0);
  out.final_softcap = read_softcap(config, "final_logit_softcapping", 30.0);
  read_sliding_layers(config, /*pattern=*/2, out);
  read_rope(config, {}, out);
}

}  // namespace lathe
