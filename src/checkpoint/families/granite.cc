#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"

namespace lathe {

/// A Llama with four multipliers.
void read_granite(const JsonFields& config, ModelConfig& out) {
  read_llama(config, out);
  const auto multiplier = [&](std::string_view key) {
    return config.optional_number(key, 1e-9, kMaxFactor).value_or(1.0);
  };
  out.embedding_multiplier = multiplier("embedding_multiplier");
  out.residual_multiplier = multiplier("residual_multiplier");
  out.attention_scale = multiplier("attention_multiplier");
  out.logits_scaling = multiplier("logits_scaling");
}

}  // namespace lathe
