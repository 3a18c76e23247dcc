#include "checkpoint/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "support/error.h"
#include "support/json.h"

namespace lathe {
namespace {

// Bounds far above any published model and low enough that no product of them overflows later.
constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 4096;
constexpr int64_t kMaxPositions = int64_t{1} << 26;
constexpr double kMaxTheta = 1e12;
constexpr double kMaxFactor = 1e6;

/// The dictionary that describes the rotary embedding; transformers 4 and 5 name it differently and
/// transformers 5 gives the older name precedence.
std::string_view rope_key(const JsonFields& config) {
  return config.find("rope_scaling") != nullptr ? "rope_scaling" : "rope_parameters";
}

void read_llama3(const JsonFields& config, const JsonFields& rope, RopeConfig& out) {
  out.kind = RopeConfig::Kind::llama3;
  out.factor = rope.number("factor", 1.0, kMaxFactor);
  out.low_freq_factor = rope.number("low_freq_factor", 1e-6, kMaxFactor);
  out.high_freq_factor = rope.number("high_freq_factor", 1e-6, kMaxFactor);
  if (out.high_freq_factor <= out.low_freq_factor) {
    fail({.what = "value out of range",
          .where = rope.place("high_freq_factor"),
          .expected = "more than low_freq_factor",
          .found = describe(out.high_freq_factor)});
  }
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  const JsonFields& source = rope.find(kOriginal) != nullptr ? rope : config;
  out.original_max_position_embeddings = source.integer(kOriginal, 1, kMaxPositions);
}

RopeConfig read_rope(const JsonFields& config, const std::string& where) {
  RopeConfig out;
  out.theta = config.optional_number("rope_theta", 1.0, kMaxTheta).value_or(out.theta);
  const auto whole_rotation = [](const JsonFields& fields) {
    constexpr std::string_view kPartial = "partial_rotary_factor";
    if (fields.optional_number(kPartial, 0.0, 1.0).value_or(1.0) == 1.0) return;
    fail({.what = "partial rotary embeddings are not supported for this model type",
          .where = fields.place(kPartial),
          .expected = "1.0",
          .found = describe(*fields.find(kPartial))});
  };
  whole_rotation(config);
  const std::string_view key = rope_key(config);
  const nlohmann::json* object = config.find(key);
  if (object == nullptr) return out;
  const JsonFields rope(*object, where + ": " + std::string(key));
  whole_rotation(rope);
  out.theta = rope.optional_number("rope_theta", 1.0, kMaxTheta).value_or(out.theta);
  const std::string_view type_key = rope.find("rope_type") != nullptr ? "rope_type" : "type";
  const std::string type = rope.optional_string(type_key).value_or("default");
  if (type == "default") return out;
  if (type == "linear") {
    out.kind = RopeConfig::Kind::linear;
    out.factor = rope.number("factor", 1e-6, kMaxFactor);
  } else if (type == "llama3") {
    read_llama3(config, rope, out);
  } else {
    fail({.what = "this kind of rotary position embedding is not supported",
          .where = rope.place(type_key),
          .expected = "default, linear or llama3",
          .found = '"' + printable(type, 40) + '"'});
  }
  return out;
}

/// What LlamaConfig and the modeling code of LlamaForCausalLM read. `pretraining_tp` changes
/// nothing (transformers ignores it) and dropout plays no part in inference.
void read_llama(const JsonFields& config, const std::string& where, ModelConfig& out) {
  out.vocab_size = config.integer("vocab_size", 1, kMaxVocabulary);
  out.hidden_size = config.integer("hidden_size", 1, kMaxWidth);
  out.intermediate_size = config.integer("intermediate_size", 1, kMaxWidth);
  out.layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  out.heads = config.integer("num_attention_heads", 1, kMaxHeads);
  out.kv_heads = config.optional_integer("num_key_value_heads", 1, kMaxHeads).value_or(out.heads);
  if (out.heads % out.kv_heads != 0) {
    fail({.what = "the heads do not divide into groups",
          .where = config.place("num_key_value_heads"),
          .expected = "a divisor of num_attention_heads = " + std::to_string(out.heads),
          .found = std::to_string(out.kv_heads)});
  }
  if (const auto head_dim = config.optional_integer("head_dim", 1, kMaxHeadDim)) {
    out.head_dim = *head_dim;
  } else if (out.hidden_size % out.heads == 0 && out.hidden_size / out.heads <= kMaxHeadDim) {
    out.head_dim = out.hidden_size / out.heads;
  } else {
    fail({.what = "without head_dim the hidden size must divide evenly into heads",
          .where = config.place("hidden_size"),
          .expected = "a multiple of num_attention_heads = " + std::to_string(out.heads) +
                      ", at most " + std::to_string(kMaxHeadDim) + " a head",
          .found = std::to_string(out.hidden_size)});
  }
  if (out.head_dim % 2 != 0) {
    fail({.what = "rotary embeddings need an even head size",
          .where = config.place("head_dim"),
          .expected = "an even number",
          .found = std::to_string(out.head_dim)});
  }
  out.max_position_embeddings =
      config.optional_integer("max_position_embeddings", 1, kMaxPositions).value_or(2048);
  out.rms_norm_eps = config.optional_number("rms_norm_eps", 0.0, 1.0).value_or(1e-6);
  const std::string activation = config.optional_string("hidden_act").value_or("silu");
  // "swish" is transformers' other name for the same function.
  if (activation != "silu" && activation != "swish") {
    fail({.what = "this activation is not supported for this model type",
          .where = config.place("hidden_act"),
          .expected = "\"silu\"",
          .found = '"' + printable(activation, 40) + '"'});
  }
  out.qkv_bias = config.optional_boolean("attention_bias").value_or(false);
  out.output_bias = out.qkv_bias;
  out.mlp_bias = config.optional_boolean("mlp_bias").value_or(false);
  out.tie_word_embeddings = config.optional_boolean("tie_word_embeddings").value_or(false);
  out.rope = read_rope(config, where);
  out.rotary_dim = out.head_dim;
  out.attention_scale = 1.0 / std::sqrt(static_cast<double>(out.head_dim));
  out.layer_configs.resize(static_cast<size_t>(out.layers));
}

/// A model family: what its config.json calls it and how its fields are read.
struct Family {
  std::string_view model_type;
  void (*read)(const JsonFields& config, const std::string& where, ModelConfig& out);
};

constexpr std::array kFamilies{Family{"llama", read_llama}};

}  // namespace

ModelConfig parse_model_config(const nlohmann::json& config, const std::string& where) {
  const JsonFields fields(config, where);
  ModelConfig out;
  out.model_type = fields.string("model_type");
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& known) {
    return known.model_type == out.model_type;
  });
  if (family == kFamilies.end()) {
    std::string known;
    for (const Family& one : kFamilies) {
      known += (known.empty() ? "" : ", ") + std::string(one.model_type);
    }
    fail({.what = "this model type is not supported",
          .where = fields.place("model_type"),
          .expected = known,
          .found = '"' + printable(out.model_type, 60) + '"'});
  }
  if (const nlohmann::json* quantization = fields.find("quantization_config")) {
    const auto method =
        quantization->is_object() ? quantization->find("quant_method") : quantization->end();
    const bool named = quantization->is_object() && method != quantization->end();
    fail({.what = "the checkpoint is quantized already",
          .where = fields.place("quantization_config"),
          .found = named ? describe(*method) : describe(*quantization),
          .advice = "use the original float checkpoint or a GGUF file of the model"});
  }
  family->read(fields, where, out);
  return out;
}

}  // namespace lathe
