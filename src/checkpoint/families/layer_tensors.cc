#include "checkpoint/families/layer_tensors.h"

namespace lathe {
namespace {

int64_t query_width(const ModelConfig& config) { return config.heads * config.head_dim; }
int64_t key_width(const ModelConfig& config) { return config.kv_heads * config.head_dim; }

void add_output(const ModelConfig& config, LayerTensors& layer) {
  layer.linear("self_attn.o_proj", config.hidden_size, query_width(config), config.output_bias);
}

void add_attention(const ModelConfig& config, LayerTensors& layer) {
  const int64_t hidden = config.hidden_size;
  layer.linear("self_attn.q_proj", query_width(config), hidden, config.qkv_bias);
  layer.linear("self_attn.k_proj", key_width(config), hidden, config.qkv_bias);
  layer.linear("self_attn.v_proj", key_width(config), hidden, config.qkv_bias);
  add_output(config, layer);
  if (config.qk_norm == QkNorm::none) return;
  const bool whole = config.qk_norm == QkNorm::whole;
  layer.norm("self_attn.q_norm", whole ? query_width(config) : config.head_dim);
  layer.norm("self_attn.k_norm", whole ? key_width(config) : config.head_dim);
}

void add_mlp(const ModelConfig& config, LayerTensors& layer) {
  layer.linear("mlp.gate_proj", config.intermediate_size, config.hidden_size, config.mlp_bias);
  layer.linear("mlp.up_proj", config.intermediate_size, config.hidden_size, config.mlp_bias);
  layer.linear("mlp.down_proj", config.hidden_size, config.intermediate_size, config.mlp_bias);
}

void add_packed_mlp(const ModelConfig& config, LayerTensors& layer) {
  layer.linear("mlp.gate_up_proj", 2 * config.intermediate_size, config.hidden_size, false);
  layer.linear("mlp.down_proj", config.hidden_size, config.intermediate_size, false);
}

void add_norms(const ModelConfig& config, LayerTensors& layer,
               std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) layer.norm(name, config.hidden_size);
}

}  // namespace

void LayerTensors::norm(std::string_view name, int64_t size) {
  tensors_.push_back({prefix_ + std::string(name) + ".weight", {size}});
}

void LayerTensors::linear(std::string_view name, int64_t out, int64_t in, bool bias) {
  tensors_.push_back({prefix_ + std::string(name) + ".weight", {out, in}});
  if (bias) tensors_.push_back({prefix_ + std::string(name) + ".bias", {out}});
}

void add_llama_layer(const ModelConfig& config, LayerTensors& layer) {
  add_norms(config, layer, {"input_layernorm", "post_attention_layernorm"});
  add_attention(config, layer);
  add_mlp(config, layer);
}

void add_gemma2_layer(const ModelConfig& config, LayerTensors& layer) {
  add_norms(config, layer, {"pre_feedforward_layernorm", "post_feedforward_layernorm"});
  add_llama_layer(config, layer);
}

void add_phi3_layer(const ModelConfig& config, LayerTensors& layer) {
  add_norms(config, layer, {"input_layernorm", "post_attention_layernorm"});
  layer.linear("self_attn.qkv_proj", query_width(config) + 2 * key_width(config),
               config.hidden_size, config.qkv_bias);
  add_output(config, layer);
  add_packed_mlp(config, layer);
}

void add_olmo2_layer(const ModelConfig& config, LayerTensors& layer) {
  add_norms(config, layer, {"post_attention_layernorm", "post_feedforward_layernorm"});
  add_attention(config, layer);
  add_mlp(config, layer);
}

void add_glm_layer(const ModelConfig& config, LayerTensors& layer) {
  add_norms(config, layer, {"input_layernorm", "post_attention_layernorm"});
  add_attention(config, layer);
  add_packed_mlp(config, layer);
}

}  // namespace lathe
