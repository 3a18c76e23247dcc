#include <string>

#include "checkpoint/families/family.h"
#include "checkpoint/families/gemma.h"
#include "checkpoint/families/rope_fields.h"
#include "support/error.h"

namespace lathe {
namespace {

/// The settings of one layer type. transformers 4: `rope_theta` and `rope_scaling` for layers that
/// see everything, `rope_local_base_freq` for those that slide.
RopeConfig read_layer_rope(const JsonFields& config, const char* layer_type, const char* theta_key,
                           double theta, bool scaled, const ModelConfig& out) {
  nlohmann::json settings = nlohmann::json::object();
  std::string where = config.place(theta_key);
  if (const nlohmann::json* object = config.find("rope_parameters")) {
    where = config.place("rope_parameters");
    const JsonFields types(*object, where);
    for (const auto& item : object->items()) {
      if (item.key() == "full_attention" || item.key() == "sliding_attention") continue;
      fail({.what = "the rotary settings are not those of a layer type",
            .where = types.place(printable(item.key(), 60)),
            .expected = "full_attention or sliding_attention"});
    }
    if (types.find(layer_type) != nullptr) {
      settings = types.object(layer_type);
      where = types.place(layer_type);
    }
  }
  if (scaled && config.find("rope_scaling") != nullptr) {
    settings.update(config.object("rope_scaling"));
    where = config.place("rope_scaling");
  }
  const double missing = config.optional_number(theta_key, 1.0, kMaxTheta).value_or(theta);
  return read_rope_settings(JsonFields(settings, where), config, {.theta = missing}, out);
}

void read_both_ropes(const JsonFields& config, ModelConfig& out) {
  out.rope = read_layer_rope(config, "full_attention", "rope_theta", 1e6, true, out);
  out.local_rope =
      read_layer_rope(config, "sliding_attention", "rope_local_base_freq", 1e4, false, out);
}

}  // namespace

void read_gemma3_text(const JsonFields& config, ModelConfig& out) {
  read_gemma2_base(config,
                   {.vocab_size = 262208,
                    .hidden_size = 2304,
                    .intermediate_size = 9216,
                    .layers = 26,
                    .heads = 8,
                    .kv_heads = 4,
                    .head_dim = 256,
                    .max_position_embeddings = 131072},
                   out);
  out.qk_norm = QkNorm::per_head;
  out.attention_softcap = read_softcap(config, "attn_logit_softcapping", {});
  out.final_softcap = read_softcap(config, "final_logit_softcapping", {});
  const int64_t pattern =
      config.optional_integer("sliding_window_pattern", 1, kMaxPositions).value_or(6);
  read_sliding_layers(config, pattern, out);
  out.rotary_dim = out.head_dim;
  read_both_ropes(config, out);
}

}  // namespace lathe
