#include "checkpoint/gguf_config.h"

#include <cmath>

#include "checkpoint/gguf_rope.h"
#include "support/error.h"

namespace lathe {
namespace {

/// Settings that change the arithmetic, where the family has not asked for them.
void refuse_foreign_settings(GgufSettings& settings) {
  for (const char* key : {"expert_count", "expert_used_count", "attention.sliding_window"}) {
    if (!settings.asked(key)) settings.refuse_unless(key, 0);
  }
  for (const char* key : {"attention.scale", "logit_scale", "embedding_scale", "residual_scale",
                          "attn_logit_softcapping", "final_logit_softcapping"}) {
    if (!settings.asked(key)) settings.refuse_unless_number(key, 0.0);
  }
  if (settings.boolean("attention.causal").value_or(true)) return;
  fail({.what = "models without causal attention are not supported",
        .where = settings.place("attention.causal")});
}

void warn_about_unread_keys(GgufSettings& settings, std::vector<std::string>& warnings) {
  // How the file came to be, and what was done to rotary embeddings before.
  for (const char* key : {"tensor_data_layout", "rope.scaling.finetuned"}) settings.know(key);
  for (const std::string& key : settings.unread()) {
    warnings.push_back(settings.gguf().where() + ": the setting " + printable(key, 80) +
                       " is not known");
  }
}

int64_t vocabulary_size(GgufSettings& settings) {
  if (const auto size = settings.integer("vocab_size")) return *size;
  const auto* tokens = settings.gguf().strings("tokenizer.ggml.tokens");
  if (tokens == nullptr) {
    fail({.what = "the metadata is missing", .where = settings.place("vocab_size")});
  }
  return static_cast<int64_t>(tokens->size());
}

int64_t head_size(GgufSettings& settings, int64_t hidden, int64_t heads) {
  const auto key = settings.integer("attention.key_length");
  const int64_t size = key ? *key : heads > 0 && hidden % heads == 0 ? hidden / heads : 0;
  settings.refuse_unless("attention.value_length", size);
  return size;
}

/// Values of each head that rotate.
int64_t rotary_size(GgufSettings& settings, const GgufFamily& family, int64_t head_dim) {
  constexpr std::string_view kKey = "rope.dimension_count";
  if (!family.part_may_rotate) {
    settings.refuse_unless(kKey, head_dim);
    return head_dim;
  }
  const int64_t rotary = settings.integer(kKey).value_or(head_dim);
  if (rotary >= 2 && rotary <= head_dim) return rotary;
  fail({.what = "value out of range",
        .where = settings.place(kKey),
        .expected = "2 to " + std::to_string(head_dim),
        .found = std::to_string(rotary)});
}

}  // namespace

nlohmann::json gguf_config(const Gguf& gguf, const GgufFamily& family,
                           std::vector<std::string>& warnings) {
  GgufSettings settings(gguf, family.architecture);
  const int64_t hidden = settings.required_integer("embedding_length");
  const int64_t heads = settings.required_integer("attention.head_count");
  const int64_t head_dim = head_size(settings, hidden, heads);
  const int64_t rotary = rotary_size(settings, family, head_dim);
  const double theta = settings.number("rope.freq_base").value_or(10000.0);
  nlohmann::json config{
      {"model_type", family.model_type},
      {"vocab_size", vocabulary_size(settings)},
      {"hidden_size", hidden},
      {"intermediate_size", settings.required_integer("feed_forward_length")},
      {"num_hidden_layers", settings.required_integer("block_count")},
      {"num_attention_heads", heads},
      {"num_key_value_heads", settings.integer("attention.head_count_kv").value_or(heads)},
      {"head_dim", head_dim},
      {"max_position_embeddings", settings.required_integer("context_length")},
      {"rms_norm_eps", settings.required_number("attention.layer_norm_rms_epsilon")},
      {"rope_theta", theta},
      {"attention_bias", gguf.find_tensor("blk.0.attn_q.bias") != nullptr ||
                             gguf.find_tensor("blk.0.attn_qkv.bias") != nullptr},
      {"mlp_bias", gguf.find_tensor("blk.0.ffn_gate.bias") != nullptr},
      {"tie_word_embeddings", gguf.find_tensor("output.weight") == nullptr}};
  if (family.part_may_rotate) {
    // Rounded up, so that head_dim times the share is not a little less than `rotary`.
    const double share = static_cast<double>(rotary) / static_cast<double>(head_dim);
    config["partial_rotary_factor"] = std::nextafter(share, 1.0);
  }
  family.add_settings(settings, config);
  add_gguf_rope_scaling(settings, rotary, theta, config);
  refuse_foreign_settings(settings);
  warn_about_unread_keys(settings, warnings);
  return config;
}

}  // namespace lathe
