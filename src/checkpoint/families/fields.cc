#include "checkpoint/families/fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 4096;

/// A number of the config; `missing` where absent, nothing where null or nothing to fall back on.
std::optional<int64_t> nullable(const JsonFields& config, std::string_view key, int64_t high,
                                std::optional<int64_t> missing) {
  if (config.is_null(key)) return std::nullopt;
  const auto value = config.optional_integer(key, 1, high);
  return value ? value : missing;
}

void read_heads(const JsonFields& config, const SizeDefaults& defaults, ModelConfig& out) {
  out.heads = config.optional_integer("num_attention_heads", 1, kMaxHeads).value_or(defaults.heads);
  out.kv_heads =
      nullable(config, "num_key_value_heads", kMaxHeads, defaults.kv_heads).value_or(out.heads);
  if (out.heads % out.kv_heads != 0) {
    fail({.what = "the heads do not divide into groups",
          .where = config.place("num_key_value_heads"),
          .expected = "a divisor of num_attention_heads = " + std::to_string(out.heads),
          .found = std::to_string(out.kv_heads)});
  }
  if (const auto head_dim = nullable(config, "head_dim", kMaxHeadDim, defaults.head_dim)) {
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
  out.attention_scale = 1.0 / std::sqrt(static_cast<double>(out.head_dim));
}

}  // namespace

void read_sizes(const JsonFields& config, const SizeDefaults& defaults, ModelConfig& out) {
  const auto size = [&](std::string_view key, int64_t high, int64_t missing) {
    return config.optional_integer(key, 1, high).value_or(missing);
  };
  out.vocab_size = size("vocab_size", kMaxVocabulary, defaults.vocab_size);
  out.hidden_size = size("hidden_size", kMaxWidth, defaults.hidden_size);
  out.intermediate_size = size("intermediate_size", kMaxWidth, defaults.intermediate_size);
  out.layers = size("num_hidden_layers", kMaxLayers, defaults.layers);
  out.max_position_embeddings =
      size("max_position_embeddings", kMaxPositions, defaults.max_position_embeddings);
  out.rms_norm_eps =
      config.optional_number("rms_norm_eps", 0.0, 1.0).value_or(defaults.rms_norm_eps);
  read_heads(config, defaults, out);
  out.layer_configs.assign(static_cast<size_t>(out.layers), {});
}

bool read_flag(const JsonFields& config, std::string_view key, bool missing) {
  return config.optional_boolean(key).value_or(missing);
}

void read_attention_bias(const JsonFields& config, ModelConfig& out) {
  out.qkv_bias = read_flag(config, "attention_bias", false);
  out.output_bias = out.qkv_bias;
}

Activation read_activation(const JsonFields& config, std::string_view key, Activation missing) {
  // transformers has several names and implementations for one function.
  constexpr std::array<std::pair<std::string_view, Activation>, 7> kNames{
      {{"silu", Activation::silu},
       {"swish", Activation::silu},
       {"gelu", Activation::gelu},
       {"gelu_python", Activation::gelu},
       {"gelu_pytorch_tanh", Activation::gelu_tanh},
       {"gelu_python_tanh", Activation::gelu_tanh},
       {"gelu_new", Activation::gelu_tanh}}};
  const auto name = config.optional_string(key);
  if (!name) return missing;
  for (const auto& [known, activation] : kNames) {
    if (known == *name) return activation;
  }
  fail({.what = "this activation is not supported",
        .where = config.place(key),
        .expected = "silu, gelu or gelu_pytorch_tanh",
        .found = '"' + printable(*name, 40) + '"'});
}

std::optional<double> read_softcap(const JsonFields& config, std::string_view key,
                                   std::optional<double> missing) {
  if (config.is_null(key)) return std::nullopt;
  const auto cap = config.optional_number(key, 1e-6, kMaxFactor);
  return cap ? cap : missing;
}

bool read_layer_types(const JsonFields& config, ModelConfig& out) {
  constexpr std::string_view kKey = "layer_types";
  if (config.find(kKey) == nullptr) return false;
  const nlohmann::json& types = config.list(kKey);
  if (types.size() != out.layer_configs.size()) {
    fail({.what = "there is not one layer type for each layer",
          .where = config.place(kKey),
          .expected = std::to_string(out.layers),
          .found = std::to_string(types.size())});
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const bool sliding = types[i] == "sliding_attention";
    if (!sliding && types[i] != "full_attention") {
      fail({.what = "layers of this type are not supported",
            .where = config.place(kKey),
            .expected = "full_attention or sliding_attention",
            .found = describe(types[i])});
    }
    out.layer_configs[i].sliding = sliding;
  }
  return true;
}

std::optional<int64_t> read_window(const JsonFields& config, std::optional<int64_t> missing) {
  return nullable(config, "sliding_window", kMaxPositions, missing);
}

void set_window(const JsonFields& config, std::optional<int64_t> window, ModelConfig& out) {
  const bool any = std::any_of(out.layer_configs.begin(), out.layer_configs.end(),
                               [](const LayerConfig& layer) { return layer.sliding; });
  if (any && !window) {
    fail({.what = "some layers slide, but there is no window",
          .where = config.place("sliding_window"),
          .expected = "a number of positions",
          .found = "none"});
  }
  out.sliding_window = any ? *window : 0;
}

void set_window_of_all_layers(const JsonFields& config, std::optional<int64_t> window,
                              ModelConfig& out) {
  for (LayerConfig& layer : out.layer_configs) layer.sliding = window.has_value();
  set_window(config, window, out);
}

void refuse_flag(const JsonFields& config, std::string_view key, std::string_view what) {
  if (!read_flag(config, key, false)) return;
  fail({.what = std::string(what) + " is not supported",
        .where = config.place(key),
        .expected = "false",
        .found = "true"});
}

}  // namespace lathe
