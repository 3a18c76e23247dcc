#include "checkpoint/expected_tensors.h"

#include <algorithm>
#include <string>

#include "support/error.h"

namespace lathe {

std::vector<TensorInfo> expected_tensors(const ModelConfig& config) {
  const int64_t hidden = config.hidden_size;
  const int64_t query = config.heads * config.head_dim;
  const int64_t key_value = config.kv_heads * config.head_dim;
  const int64_t mlp = config.intermediate_size;
  std::vector<TensorInfo> tensors;
  const auto linear = [&](const std::string& name, int64_t out, int64_t in, bool bias) {
    tensors.push_back({name + ".weight", {out, in}});
    if (bias) tensors.push_back({name + ".bias", {out}});
  };

  tensors.push_back({"model.embed_tokens.weight", {config.vocab_size, hidden}});
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    tensors.push_back({prefix + "input_layernorm.weight", {hidden}});
    linear(prefix + "self_attn.q_proj", query, hidden, config.qkv_bias);
    linear(prefix + "self_attn.k_proj", key_value, hidden, config.qkv_bias);
    linear(prefix + "self_attn.v_proj", key_value, hidden, config.qkv_bias);
    linear(prefix + "self_attn.o_proj", hidden, query, config.output_bias);
    tensors.push_back({prefix + "post_attention_layernorm.weight", {hidden}});
    linear(prefix + "mlp.gate_proj", mlp, hidden, config.mlp_bias);
    linear(prefix + "mlp.up_proj", mlp, hidden, config.mlp_bias);
    linear(prefix + "mlp.down_proj", hidden, mlp, config.mlp_bias);
  }
  tensors.push_back({"model.norm.weight", {hidden}});
  if (!config.tie_word_embeddings) {
    tensors.push_back({"lm_head.weight", {config.vocab_size, hidden}});
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  return tensors;
}

void check_shape(const TensorInfo& expected, const Shape& found, const std::string& where) {
  if (expected.shape == found) return;
  fail({.what = "the tensor does not have the shape that the config gives it",
        .where = where + ": " + expected.name,
        .expected = to_string(expected.shape),
        .found = to_string(found)});
}

void fail_missing(const std::vector<std::string>& names, const std::string& where) {
  const bool head_only = names.size() == 1 && names.front() == "lm_head.weight";
  fail({.what = names.size() == 1
                    ? "the tensor is missing"
                    : "tensors are missing (" + std::to_string(names.size()) + " in all)",
        .where = where + ": " + names.front(),
        .advice = head_only ? "the config says tie_word_embeddings false; if the model does share "
                              "its embedding, say true there"
                            : "the download may be incomplete, or the config of another model"});
}

}  // namespace lathe
