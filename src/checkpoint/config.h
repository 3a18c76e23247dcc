#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// Rotary position embedding as a config describes it (`rope_parameters` in transformers 5;
/// `rope_theta` and `rope_scaling` in transformers 4, with `type` or `rope_type`).
struct RopeConfig {
  enum class Kind : uint8_t { standard, linear, llama3 };
  Kind kind = Kind::standard;
  double theta = 10000.0;
  double factor = 1.0;  ///< linear, llama3
  // llama3 only:
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int64_t original_max_position_embeddings = 8192;
};

/// What a config.json says about the shape and the arithmetic of a model. Every field that the
/// family's modeling code reads is here or is refused by name.
struct ModelConfig {
  std::string model_type;  ///< "llama"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;  ///< config.head_dim where given, else hidden_size / heads
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  std::string hidden_act = "silu";
  bool attention_bias = false;
  bool mlp_bias = false;
  bool tie_word_embeddings = false;
  RopeConfig rope;
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
