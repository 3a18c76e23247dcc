#include "checkpoint/gguf_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "checkpoint/gguf_rope.h"
#include "support/error.h"

namespace lathe {
namespace {

constexpr std::string_view kArchitecture = "general.architecture";

std::string place(const Gguf& gguf, std::string_view key) {
  return gguf.where() + ": " + std::string(key);
}

int64_t required(const Gguf& gguf, std::string_view key) {
  const auto value = gguf.integer(key);
  if (!value) fail({.what = "the metadata is missing", .where = place(gguf, key)});
  return *value;
}

/// Throws unless an integer setting is absent or `neutral`.
void refuse_unless(const Gguf& gguf, std::string_view key, int64_t neutral) {
  const auto value = gguf.integer(key);
  if (!value || *value == neutral) return;
  fail({.what = "models with this setting are not supported",
        .where = place(gguf, key),
        .expected = std::to_string(neutral),
        .found = std::to_string(*value)});
}

/// Throws unless a floating-point setting is absent or `neutral`.
void refuse_unless_number(const Gguf& gguf, std::string_view key, double neutral) {
  const auto value = gguf.number(key);
  if (!value || *value == neutral) return;
  fail({.what = "models with this setting are not supported",
        .where = place(gguf, key),
        .expected = std::to_string(neutral),
        .found = std::to_string(*value)});
}

void check_architecture(const Gguf& gguf) {
  const auto name = gguf.string(kArchitecture);
  if (!name) fail({.what = "the metadata is missing", .where = place(gguf, kArchitecture)});
  if (*name == "llama") return;
  fail({.what = "this architecture is not supported",
        .where = place(gguf, kArchitecture),
        .expected = "\"llama\"",
        .found = '"' + printable(*name, 40) + '"'});
}

/// llama.* keys that change the arithmetic in ways LlamaForCausalLM does not have.
void refuse_foreign_settings(const Gguf& gguf) {
  refuse_unless(gguf, "llama.expert_count", 0);
  refuse_unless(gguf, "llama.expert_used_count", 0);
  refuse_unless(gguf, "llama.attention.sliding_window", 0);
  for (const char* key : {"llama.attention.scale", "llama.logit_scale", "llama.embedding_scale",
                          "llama.residual_scale"}) {
    refuse_unless_number(gguf, key, 0.0);
  }
  refuse_unless_number(gguf, "llama.rope.scaling.attn_factor", 1.0);
  if (gguf.boolean("llama.attention.causal").value_or(true)) return;
  fail({.what = "models without causal attention are not supported",
        .where = place(gguf, "llama.attention.causal")});
}

void warn_about_unread_keys(const Gguf& gguf, std::vector<std::string>& warnings) {
  constexpr std::array<std::string_view, 26> kRead{"llama.vocab_size",
                                                   "llama.context_length",
                                                   "llama.embedding_length",
                                                   "llama.block_count",
                                                   "llama.feed_forward_length",
                                                   "llama.attention.head_count",
                                                   "llama.attention.head_count_kv",
                                                   "llama.attention.key_length",
                                                   "llama.attention.value_length",
                                                   "llama.attention.layer_norm_rms_epsilon",
                                                   "llama.attention.scale",
                                                   "llama.attention.sliding_window",
                                                   "llama.attention.causal",
                                                   "llama.rope.dimension_count",
                                                   "llama.rope.freq_base",
                                                   "llama.rope.scaling.attn_factor",
                                                   "llama.rope.scaling.type",
                                                   "llama.rope.scaling.factor",
                                                   "llama.rope.scaling.original_context_length",
                                                   "llama.rope.scaling.finetuned",
                                                   "llama.rope.scale_linear",
                                                   "llama.expert_count",
                                                   "llama.expert_used_count",
                                                   "llama.logit_scale",
                                                   "llama.embedding_scale",
                                                   "llama.residual_scale"};
  for (const auto& [key, value] : gguf.metadata()) {
    if (!key.starts_with("llama.")) continue;
    if (std::find(kRead.begin(), kRead.end(), key) != kRead.end()) continue;
    if (key == "llama.tensor_data_layout") continue;  // says only how the file came to be
    warnings.push_back(gguf.where() + ": the setting " + printable(key, 80) + " is not known");
  }
}

int64_t vocabulary_size(const Gguf& gguf) {
  if (const auto size = gguf.integer("llama.vocab_size")) return *size;
  const auto* tokens = gguf.strings("tokenizer.ggml.tokens");
  if (tokens == nullptr) {
    fail({.what = "the metadata is missing", .where = place(gguf, "llama.vocab_size")});
  }
  return static_cast<int64_t>(tokens->size());
}

int64_t head_size(const Gguf& gguf, int64_t hidden, int64_t heads) {
  const auto key = gguf.integer("llama.attention.key_length");
  const auto rotated = gguf.integer("llama.rope.dimension_count");
  const int64_t size = key                                ? *key
                       : heads > 0 && hidden % heads == 0 ? hidden / heads
                                                          : rotated.value_or(0);
  refuse_unless(gguf, "llama.attention.value_length", size);
  // Rotating a part of each head only.
  refuse_unless(gguf, "llama.rope.dimension_count", size);
  return size;
}

}  // namespace

nlohmann::json gguf_config(const Gguf& gguf, std::span<const std::byte> file,
                           std::vector<std::string>& warnings) {
  check_architecture(gguf);
  refuse_foreign_settings(gguf);
  warn_about_unread_keys(gguf, warnings);
  const int64_t hidden = required(gguf, "llama.embedding_length");
  const int64_t heads = required(gguf, "llama.attention.head_count");
  const int64_t head_dim = head_size(gguf, hidden, heads);
  const double theta = gguf.number("llama.rope.freq_base").value_or(10000.0);
  nlohmann::json config{
      {"model_type", "llama"},
      {"vocab_size", vocabulary_size(gguf)},
      {"hidden_size", hidden},
      {"intermediate_size", required(gguf, "llama.feed_forward_length")},
      {"num_hidden_layers", required(gguf, "llama.block_count")},
      {"num_attention_heads", heads},
      {"num_key_value_heads", gguf.integer("llama.attention.head_count_kv").value_or(heads)},
      {"head_dim", head_dim},
      {"max_position_embeddings", required(gguf, "llama.context_length")},
      {"hidden_act", "silu"},
      {"rope_theta", theta},
      {"attention_bias", gguf.find_tensor("blk.0.attn_q.bias") != nullptr},
      {"mlp_bias", gguf.find_tensor("blk.0.ffn_gate.bias") != nullptr},
      {"tie_word_embeddings", gguf.find_tensor("output.weight") == nullptr}};
  const auto epsilon = gguf.number("llama.attention.layer_norm_rms_epsilon");
  if (!epsilon) {
    fail({.what = "the metadata is missing",
          .where = place(gguf, "llama.attention.layer_norm_rms_epsilon")});
  }
  config["rms_norm_eps"] = *epsilon;
  config["rope_scaling"] = gguf_rope_scaling(gguf, file, head_dim, theta);
  return config;
}

std::string gguf_tensor_name(std::string_view hf_name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOuter{
      {{"model.embed_tokens.weight", "token_embd.weight"},
       {"model.norm.weight", "output_norm.weight"},
       {"lm_head.weight", "output.weight"}}};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kInner{
      {{"input_layernorm", "attn_norm"},
       {"post_attention_layernorm", "ffn_norm"},
       {"self_attn.q_proj", "attn_q"},
       {"self_attn.k_proj", "attn_k"},
       {"self_attn.v_proj", "attn_v"},
       {"self_attn.o_proj", "attn_output"},
       {"mlp.gate_proj", "ffn_gate"},
       {"mlp.up_proj", "ffn_up"},
       {"mlp.down_proj", "ffn_down"}}};
  for (const auto& [hf, gguf] : kOuter) {
    if (hf == hf_name) return std::string(gguf);
  }
  // "model.layers.<layer>.<module>.weight" or ".bias"
  constexpr std::string_view kLayers = "model.layers.";
  const std::string_view rest = hf_name.substr(kLayers.size());
  const size_t dot = rest.find('.');
  const size_t last = rest.rfind('.');
  const std::string_view module = rest.substr(dot + 1, last - dot - 1);
  for (const auto& [hf, gguf] : kInner) {
    if (hf == module) {
      return "blk." + std::string(rest.substr(0, dot)) + "." + std::string(gguf) +
             std::string(rest.substr(last));
    }
  }
  return "";
}

}  // namespace lathe
