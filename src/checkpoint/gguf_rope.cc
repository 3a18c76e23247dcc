#include "checkpoint/gguf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-5;
constexpr double kMaxOriginal = 0x1p24;  // positions

/// The settings of llama3 scaling next to its factor.
struct Llama3 {
  double low;
  double high;
  double original;
};

/// 1 / wavelength of every rotated pair, before scaling.
std::vector<double> frequencies(size_t pairs, double theta) {
  std::vector<double> out(pairs);
  for (size_t i = 0; i < pairs; ++i) {
    out[i] = std::pow(theta, -static_cast<double>(i) / static_cast<double>(pairs)) /
             (2.0 * std::numbers::pi);
  }
  return out;
}

/// What llama3 scaling divides the inverse frequency of a pair by
/// (transformers, modeling_rope_utils.py, _compute_llama3_parameters).
double divisor(const Llama3& settings, double factor, double frequency) {
  const double turns = settings.original * frequency;
  if (turns < settings.low) return factor;
  if (turns > settings.high) return 1.0;
  const double smooth = (turns - settings.low) / (settings.high - settings.low);
  return 1.0 / ((1.0 - smooth) / factor + smooth);
}

bool reproduces(const Llama3& settings, double factor, const std::vector<double>& frequency,
                const std::vector<float>& stored) {
  for (size_t i = 0; i < stored.size(); ++i) {
    const double expected = divisor(settings, factor, frequency[i]);
    // Written so that a NaN fails.
    if (!(std::abs(stored[i] - expected) <= kTolerance * expected)) return false;
  }
  return true;
}

/// In the middle band the smoothing is linear in the frequency: smooth = a * frequency + b with
/// a = original / (high - low) and b = -low / (high - low). Only these two ratios matter, so low
/// = 1.
std::optional<Llama3> fit(double factor, const std::vector<double>& frequency,
                          const std::vector<float>& stored) {
  std::vector<std::pair<double, double>> points;  // frequency, smooth
  for (size_t i = 0; i < stored.size(); ++i) {
    const double smooth = (1.0 / stored[i] - 1.0 / factor) / (1.0 - 1.0 / factor);
    if (smooth > 1e-4 && smooth < 1.0 - 1e-4) points.emplace_back(frequency[i], smooth);
  }
  if (points.size() < 2) return std::nullopt;
  const auto [x0, y0] = points.front();
  const auto [x1, y1] = points.back();
  const double a = (y1 - y0) / (x1 - x0);
  const double b = y0 - a * x0;
  if (!(b < 0.0 && a > 0.0)) return std::nullopt;
  const double width = -1.0 / b;  // high - low
  const double original = std::round(a * width);
  if (!(original >= 1.0 && original <= kMaxOriginal)) return std::nullopt;
  return Llama3{1.0, as_written(static_cast<float>(1.0 + width)), original};
}

std::optional<Llama3> recover(double factor, const std::vector<double>& frequency,
                              const std::vector<float>& stored) {
  // Llama 3.1 to 3.3, then the same band for other original lengths.
  std::vector<Llama3> candidates{{1.0, 4.0, 8192.0}};
  for (double original = 16.0; original <= kMaxOriginal; original *= 2.0) {
    candidates.push_back({1.0, 4.0, original});
  }
  if (const auto fitted = fit(factor, frequency, stored)) candidates.push_back(*fitted);
  for (const Llama3& settings : candidates) {
    if (reproduces(settings, factor, frequency, stored)) return settings;
  }
  return std::nullopt;
}

/// A tensor with one number for each pair that rotates.
std::vector<float> read_factors(const Gguf& gguf, const GgufTensor& tensor, int64_t pairs) {
  if (tensor.shape != Shape{pairs}) {
    fail({.what = "the tensor has the wrong shape",
          .where = gguf.where() + ": " + std::string(tensor.name),
          .expected = to_string({pairs}),
          .found = to_string(tensor.shape)});
  }
  std::vector<float> factors(static_cast<size_t>(pairs));
  tensor.type->widen(tensor.bytes.data(), factors);
  return factors;
}

json llama3_scaling(const Gguf& gguf, const GgufTensor& tensor, int64_t pairs, double theta) {
  const std::vector<float> stored = read_factors(gguf, tensor, pairs);
  const bool neutral =
      std::all_of(stored.begin(), stored.end(), [](float value) { return value == 1.0f; });
  if (neutral) return nullptr;
  // The slowest pair is far below the band, so its number is the factor itself.
  const double factor = as_written(stored.back());
  const auto settings =
      factor > 1.0 ? recover(factor, frequencies(stored.size(), theta), stored) : std::nullopt;
  if (!settings) {
    fail({.what = "these rotary frequency factors are not those of llama3 scaling",
          .where = gguf.where() + ": " + std::string(tensor.name),
          .advice = "use the Hugging Face checkpoint of the model"});
  }
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", settings->low},
          {"high_freq_factor", settings->high},
          {"original_max_position_embeddings", static_cast<int64_t>(settings->original)}};
}

/// Nothing where the file has no such tensors.
json longrope_scaling(GgufSettings& settings, int64_t pairs) {
  const Gguf& gguf = settings.gguf();
  json scaling;
  for (const auto& [key, name] : {std::pair{"short_factor", "rope_factors_short.weight"},
                                  std::pair{"long_factor", "rope_factors_long.weight"}}) {
    const GgufTensor* tensor = gguf.find_tensor(name);
    if (tensor == nullptr) continue;
    for (const float factor : read_factors(gguf, *tensor, pairs)) {
      scaling[key].push_back(as_written(factor));
    }
  }
  if (scaling.is_null()) return scaling;
  if (scaling.size() != 2) {
    fail({.what = "longrope needs both of its tensors",
          .where = gguf.where(),
          .expected = "rope_factors_short.weight and rope_factors_long.weight"});
  }
  scaling["rope_type"] = "longrope";
  if (const auto factor = settings.number("rope.scaling.attn_factor")) {
    scaling["attention_factor"] = *factor;
  }
  return scaling;
}

json yarn_scaling(GgufSettings& settings) {
  json scaling{{"rope_type", "yarn"}, {"factor", settings.required_number("rope.scaling.factor")}};
  for (const auto& [hf, key] : {std::pair{"attention_factor", "rope.scaling.yarn_attn_factor"},
                                std::pair{"beta_fast", "rope.scaling.yarn_beta_fast"},
                                std::pair{"beta_slow", "rope.scaling.yarn_beta_slow"}}) {
    if (const auto value = settings.number(key)) scaling[hf] = *value;
  }
  settings.refuse_unless_number("rope.scaling.yarn_ext_factor", 1.0);
  return scaling;
}

/// What the metadata says, apart from the tensors.
json stated_scaling(GgufSettings& settings) {
  constexpr std::string_view kType = "rope.scaling.type";
  const std::string_view type = settings.string(kType).value_or("");
  // Files from before the two keys of today have the factor under a key of its own.
  double factor = settings.number("rope.scale_linear").value_or(1.0);
  const auto today = settings.number("rope.scaling.factor");
  if (type == "yarn") return yarn_scaling(settings);
  if (type == "none" || type == "longrope") return nullptr;
  if (type == "linear") factor = today.value_or(factor);
  if (type.empty() || type == "linear") {
    return factor == 1.0 ? json() : json{{"rope_type", "linear"}, {"factor", factor}};
  }
  fail({.what = "this kind of rotary position embedding is not supported",
        .where = settings.place(kType),
        .expected = "none, linear, yarn or longrope",
        .found = '"' + printable(type, 40) + '"'});
}

}  // namespace

void add_gguf_rope_scaling(GgufSettings& settings, int64_t rotary, double theta, json& config) {
  const Gguf& gguf = settings.gguf();
  const auto original = settings.integer("rope.scaling.original_context_length");
  json scaling = stated_scaling(settings);
  const auto take = [&](const json& other, const char* name) {
    if (other.is_null()) return;
    if (!scaling.is_null()) {
      fail({.what = "two kinds of rotary scaling at once",
            .where = gguf.where() + ": " + name,
            .found = scaling["rope_type"].get<std::string>() + " scaling as well"});
    }
    scaling = other;
  };
  take(longrope_scaling(settings, rotary / 2), "rope_factors_short.weight");
  if (const GgufTensor* factors = gguf.find_tensor("rope_freqs.weight")) {
    take(llama3_scaling(gguf, *factors, rotary / 2, theta), "rope_freqs.weight");
  }
  constexpr std::string_view kFactor = "rope.scaling.attn_factor";
  if (!settings.asked(kFactor)) settings.refuse_unless_number(kFactor, 1.0);
  config["rope_scaling"] = scaling;
  // llama3 scaling has found its own.
  if (original && scaling.is_object() && scaling["rope_type"] != "llama3") {
    config["original_max_position_embeddings"] = *original;
  }
}

}  // namespace lathe
