#include "checkpoint/gguf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

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

nlohmann::json from_tensor(const Gguf& gguf, const GgufTensor& tensor,
                           std::span<const std::byte> file, int64_t head_dim, double theta) {
  const std::string where = gguf.where() + ": " + std::string(tensor.name);
  if (tensor.shape != Shape{head_dim / 2}) {
    fail({.what = "the tensor has the wrong shape",
          .where = where,
          .expected = to_string({head_dim / 2}),
          .found = to_string(tensor.shape)});
  }
  std::vector<float> stored(static_cast<size_t>(head_dim / 2));
  tensor.type->widen(file.data() + tensor.begin, stored);
  const bool neutral =
      std::all_of(stored.begin(), stored.end(), [](float value) { return value == 1.0f; });
  if (neutral) return nullptr;
  // The slowest pair is far below the band, so its number is the factor itself.
  const double factor = as_written(stored.back());
  const auto settings =
      factor > 1.0 ? recover(factor, frequencies(stored.size(), theta), stored) : std::nullopt;
  if (!settings) {
    fail({.what = "these rotary frequency factors are not those of llama3 scaling",
          .where = where,
          .advice = "use the Hugging Face checkpoint of the model"});
  }
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", settings->low},
          {"high_freq_factor", settings->high},
          {"original_max_position_embeddings", static_cast<int64_t>(settings->original)}};
}

}  // namespace

nlohmann::json gguf_rope_scaling(const Gguf& gguf, std::span<const std::byte> file,
                                 int64_t head_dim, double theta) {
  for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    if (gguf.find_tensor(name) == nullptr) continue;
    fail({.what = "this kind of rotary position embedding is not supported",
          .where = gguf.where() + ": " + name,
          .expected = "default, linear or llama3",
          .found = "longrope"});
  }
  constexpr std::string_view kType = "llama.rope.scaling.type";
  const std::string_view type = gguf.string(kType).value_or("");
  if (!type.empty() && type != "none" && type != "linear") {
    fail({.what = "this kind of rotary position embedding is not supported",
          .where = gguf.where() + ": " + std::string(kType),
          .expected = "none or linear",
          .found = '"' + printable(type, 40) + '"'});
  }
  // Files from before the two keys of today have the factor under a key of its own.
  double factor = gguf.number("llama.rope.scale_linear").value_or(1.0);
  if (type == "linear") factor = gguf.number("llama.rope.scaling.factor").value_or(factor);
  if (type == "none") factor = 1.0;

  const GgufTensor* factors = gguf.find_tensor("rope_freqs.weight");
  if (factors == nullptr) {
    if (factor == 1.0) return nullptr;
    return {{"rope_type", "linear"}, {"factor", factor}};
  }
  if (factor != 1.0) {
    fail({.what = "two kinds of rotary scaling at once",
          .where = gguf.where() + ": rope_freqs.weight",
          .found = "linear scaling in the metadata as well"});
  }
  return from_tensor(gguf, *factors, file, head_dim, theta);
}

}  // namespace lathe
