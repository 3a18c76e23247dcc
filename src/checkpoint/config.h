#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// What the feed-forward network does to its gate. `gelu` is the one with erf, `gelu_tanh` its
/// approximation (transformers: "gelu_pytorch_tanh").
enum class Activation : uint8_t { silu, gelu, gelu_tanh };

/// RMS norms of queries and keys before they rotate: over each head's head_dim values, or over all
/// heads at once.
enum class QkNorm : uint8_t { none, per_head, whole };

/// Rotary position embedding as a config describes it (`rope_parameters` in transformers 5;
/// `rope_theta` and `rope_scaling` in transformers 4, with `type` or `rope_type`). The formulas are
/// those of transformers, modeling_rope_utils.
struct RopeConfig {
  enum class Kind : uint8_t { standard, linear, llama3, dynamic, yarn, longrope };
  Kind kind = Kind::standard;
  double theta = 10000.0;
  double factor = 1.0;  ///< linear, llama3, dynamic, yarn
  // llama3 only:
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  /// Positions that the model was trained on before it was stretched: llama3, yarn, longrope (the
  /// short factors hold up to here); dynamic (frequencies are the standard ones up to here).
  int64_t original_max_position_embeddings = 8192;
  /// cos and sin are multiplied by it: what yarn and longrope configs say or their formula gives.
  double attention_factor = 1.0;
  // yarn only:
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  bool truncate = true;  ///< the ends of the ramp are rounded to whole dimensions
  // longrope only: divisors of the frequencies, [rotary_dim / 2]
  std::vector<double> short_factor{};
  std::vector<double> long_factor{};
};

/// In what the attention of one layer differs from the others'.
struct LayerConfig {
  bool sliding = false;  ///< sees ModelConfig::sliding_window positions only
  bool rotary = true;    ///< queries and keys rotate
};

/// What a config.json says about the shape and the arithmetic of a model. Every field that the
/// family's modeling code reads is here or is refused by name.
struct ModelConfig {
  std::string model_type;  ///< as in config.json: "llama", "gemma3_text"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;  ///< config.head_dim where given, else hidden_size / heads
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  bool norm_adds_one = false;  ///< norms multiply by 1 + weight
  Activation hidden_act = Activation::silu;
  bool qkv_bias = false;
  bool output_bias = false;  ///< of o_proj
  bool mlp_bias = false;
  bool tie_word_embeddings = false;
  QkNorm qk_norm = QkNorm::none;
  RopeConfig rope;                       ///< of all layers that have none of their own
  std::optional<RopeConfig> local_rope;  ///< of sliding layers, where it differs
  int64_t rotary_dim = 0;                ///< the first values of each head, which rotate; even
  /// Pairs that rotate are (2i, 2i + 1) rather than (i, i + rotary_dim / 2).
  bool interleaved_rotary = false;
  double attention_scale = 1.0;  ///< what products of queries and keys are multiplied by
  double embedding_multiplier = 1.0;
  double residual_multiplier = 1.0;  ///< of what attention and MLP add to the residual stream
  double logits_scaling = 1.0;       ///< logits are divided by it
  /// softcap * tanh(x / softcap), of attention scores and of logits.
  std::optional<double> attention_softcap;
  std::optional<double> final_softcap;
  /// Position i sees j with i - sliding_window < j <= i in a sliding layer; 0: no layer slides.
  int64_t sliding_window = 0;
  std::vector<LayerConfig> layer_configs;  ///< one a layer
};

/// Reads config.json. Throws Error for a missing field, a value of the wrong type or out of range,
/// an unknown `model_type`, rope type or activation; `where` names the file.
ModelConfig parse_model_config(const nlohmann::json& config, const std::string& where);

/// Ids that end a text, and how it begins.
struct GenerationConfig {
  std::vector<int64_t> eos_ids;  ///< union of config, generation_config and tokenizer; ascending
  std::optional<int64_t> bos_id;
};

}  // namespace lathe
