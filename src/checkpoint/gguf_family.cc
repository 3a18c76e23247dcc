#include "checkpoint/gguf_family.h"

#include <array>
#include <cmath>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

using nlohmann::json;

constexpr std::string_view kWindow = "attention.sliding_window";

void add_nothing(GgufSettings& /*settings*/, json& /*config*/) {}

void add_granite(GgufSettings& settings, json& config) {
  config["logits_scaling"] = settings.required_number("logit_scale");
  config["embedding_multiplier"] = settings.number("embedding_scale").value_or(1.0);
  config["residual_multiplier"] = settings.number("residual_scale").value_or(1.0);
  const auto head_dim = config["head_dim"].get<double>();
  config["attention_multiplier"] =
      settings.number("attention.scale").value_or(1.0 / std::sqrt(head_dim));
  // Hybrid Granite models use this setting to say that nothing rotates.
  if (settings.boolean("rope.scaling.finetuned").value_or(true)) return;
  fail({.what = "models with this setting are not supported",
        .where = settings.place("rope.scaling.finetuned"),
        .expected = "true",
        .found = "false"});
}

/// Files do not have query_pre_attn_scalar: it is the head size but in the models with 27 billion
/// parameters, which are told by their number of layers.
void add_query_scalar(json& config, int64_t layers_of_27b) {
  const bool large = config["num_hidden_layers"] == layers_of_27b;
  const auto heads = config["num_attention_heads"].get<int64_t>();
  if (large && heads > 0) {
    config["query_pre_attn_scalar"] = config["hidden_size"].get<int64_t>() / heads;
  } else {
    config["query_pre_attn_scalar"] = config["head_dim"];
  }
}

void add_gemma2(GgufSettings& settings, json& config) {
  add_query_scalar(config, 46);
  config["sliding_window"] = settings.integer(kWindow).value_or(4096);
  config["attn_logit_softcapping"] = settings.number("attn_logit_softcapping").value_or(50.0);
  config["final_logit_softcapping"] = settings.number("final_logit_softcapping").value_or(30.0);
  settings.refuse_unless("attention.sliding_window_pattern", 2);
}

void add_gemma3(GgufSettings& settings, json& config) {
  add_query_scalar(config, 62);
  const int64_t window = settings.integer(kWindow).value_or(0);
  const int64_t pattern = settings.integer("attention.sliding_window_pattern").value_or(6);
  config["sliding_window"] = window > 0 ? json(window) : json(nullptr);
  config["sliding_window_pattern"] = window > 0 ? pattern : 1;  // 1: no layer slides
  config["rope_local_base_freq"] = settings.number("rope.freq_base_swa").value_or(10000.0);
  const auto cap = settings.number("final_logit_softcapping");
  if (cap && *cap != 0.0) config["final_logit_softcapping"] = *cap;
}

void add_phi3(GgufSettings& settings, json& config) {
  const int64_t window = settings.integer(kWindow).value_or(0);
  config["sliding_window"] = window > 0 ? json(window) : json(nullptr);
}

constexpr std::array kFamilies{
    GgufFamily{"llama", "llama", true, false, false, false, add_nothing},
    GgufFamily{"qwen2", "qwen2", false, false, false, false, add_nothing},
    GgufFamily{"qwen3", "qwen3", false, false, false, false, add_nothing},
    GgufFamily{"smollm3", "smollm3", true, false, false, false, add_nothing},
    GgufFamily{"granite", "granite", true, false, false, false, add_granite},
    GgufFamily{"gemma", "gemma", false, false, true, false, add_nothing},
    GgufFamily{"gemma2", "gemma2", false, false, true, true, add_gemma2},
    GgufFamily{"gemma3", "gemma3_text", false, false, true, true, add_gemma3},
    GgufFamily{"phi3", "phi3", false, true, false, false, add_phi3},
    GgufFamily{"olmo2", "olmo2", false, false, false, true, add_nothing},
    GgufFamily{"chatglm", "glm", false, true, false, false, add_nothing}};

using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array<Names, 3> kOuter{{{"model.embed_tokens.weight", "token_embd.weight"},
                                       {"model.norm.weight", "output_norm.weight"},
                                       {"lm_head.weight", "output.weight"}}};

constexpr std::array<Names, 14> kInner{{{"input_layernorm", "attn_norm"},
                                        {"pre_feedforward_layernorm", "ffn_norm"},
                                        {"post_feedforward_layernorm", "post_ffw_norm"},
                                        {"self_attn.q_proj", "attn_q"},
                                        {"self_attn.k_proj", "attn_k"},
                                        {"self_attn.v_proj", "attn_v"},
                                        {"self_attn.qkv_proj", "attn_qkv"},
                                        {"self_attn.o_proj", "attn_output"},
                                        {"self_attn.q_norm", "attn_q_norm"},
                                        {"self_attn.k_norm", "attn_k_norm"},
                                        {"mlp.gate_proj", "ffn_gate"},
                                        {"mlp.up_proj", "ffn_up"},
                                        {"mlp.gate_up_proj", "ffn_up"},
                                        {"mlp.down_proj", "ffn_down"}}};

std::string_view module_name(std::string_view hf_module, const GgufFamily& family) {
  for (const auto& [hf, gguf] : kInner) {
    if (hf == hf_module) return gguf;
  }
  return family.norm_after_attention ? "post_attention_norm" : "ffn_norm";
}

}  // namespace

std::span<const GgufFamily> gguf_families() { return kFamilies; }

const GgufFamily& gguf_family(const Gguf& gguf) {
  constexpr std::string_view kKey = "general.architecture";
  const std::string place = gguf.where() + ": " + std::string(kKey);
  const auto name = gguf.string(kKey);
  if (!name) fail({.what = "the metadata is missing", .where = place});
  std::string known;
  for (const GgufFamily& family : kFamilies) {
    if (family.architecture == *name) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  fail({.what = "this architecture is not supported",
        .where = place,
        .expected = known,
        .found = '"' + printable(*name, 40) + '"'});
}

std::string gguf_tensor_name(std::string_view hf_name, const GgufFamily& family) {
  for (const auto& [hf, gguf] : kOuter) {
    if (hf == hf_name) return std::string(gguf);
  }
  // "model.layers.<layer>.<module>.weight" or ".bias"
  constexpr std::string_view kLayers = "model.layers.";
  const std::string_view rest = hf_name.substr(kLayers.size());
  const size_t dot = rest.find('.');
  const size_t last = rest.rfind('.');
  const std::string_view module = rest.substr(dot + 1, last - dot - 1);
  return "blk." + std::string(rest.substr(0, dot)) + "." +
         std::string(module_name(module, family)) + std::string(rest.substr(last));
}

}  // namespace lathe
