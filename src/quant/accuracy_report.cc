#include "quant/accuracy_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>

#include "quant/channel_codes.h"
#include "quant/encodings.h"
#include "quant/float_blocks.h"
#include "quant/product_samples.h"
#include "quant/range.h"
#include "quant/sample_columns.h"
#include "quant/scale_search.h"
#include "support/decibels.h"

namespace lathe {
namespace {

using Numbers = std::span<const float>;

constexpr WeightFormat kEightBits{DType::i8};

/// The numbers as codes of `spec` give them back, with the range of the numbers themselves.
std::vector<float> as_stored(Numbers numbers, const QuantSpec& spec) {
  const ValueRange range = scan(numbers.data(), static_cast<int64_t>(numbers.size())).range;
  const double scale = activation_encoding(spec, range, "").scale.front();
  std::vector<float> stored(numbers.begin(), numbers.end());
  for (float& x : stored) x = static_cast<float>(std::nearbyint(double{x} / scale) * scale);
  return stored;
}

/// The largest magnitude of a column of [rows, k], over the median of all columns.
double outlier_of(Numbers samples, int64_t k) {
  std::vector<float> largest(static_cast<size_t>(k), 0.0f);
  for (size_t i = 0; i < samples.size(); ++i) {
    float& column = largest[i % largest.size()];
    column = std::max(column, std::abs(samples[i]));
  }
  const auto middle = largest.begin() + static_cast<std::ptrdiff_t>(largest.size() / 2);
  std::nth_element(largest.begin(), middle, largest.end());
  const double median = *middle;
  const double most = *std::max_element(middle, largest.end());
  return median == 0.0 ? std::numeric_limits<double>::infinity() : most / median;
}

/// One product over its samples.
class Measurement {
 public:
  Measurement(const Value& weight, const QuantSpec& activation, Numbers samples)
      : weight_(weight),
        k_(weight.shape.at(1)),
        samples_(samples),
        columns_(samples, k_),
        stored_(as_stored(samples, activation), k_) {}

  /// Signal to noise with weights in `format`, searched for in so many steps.
  double sqnr_db(const WeightFormat& format, int steps, ThreadPool& pool) const {
    const int64_t channels = weight_.shape.at(0);
    std::vector<float> clips(static_cast<size_t>(channels), 1.0f);
    if (steps > 0) {
      clips = search_clips(*weight_.constant, weight_.shape, format, {}, samples_, steps, pool);
    }
    // Of each channel: added up in their order, whichever thread was first.
    std::vector<double> signals(clips.size());
    std::vector<double> noises(clips.size());
    for_float_blocks(
        *weight_.constant, {channels, k_}, 1, pool, [&](int64_t begin, int64_t end, Numbers block) {
          for (int64_t c = begin; c < end; ++c) {
            const auto channel = static_cast<size_t>(c);
            const Numbers weights =
                block.subspan(static_cast<size_t>((c - begin) * k_), static_cast<size_t>(k_));
            const std::vector<double> right = product(columns_, real(weights));
            const std::vector<double> found =
                product(stored_, quantized(format, weights, clips[channel]));
            for (size_t r = 0; r < right.size(); ++r) {
              const double difference = right[r] - found[r];
              signals[channel] += right[r] * right[r];
              noises[channel] += difference * difference;
            }
          }
        });
    double signal = 0.0;
    double noise = 0.0;
    for (size_t c = 0; c < signals.size(); ++c) {
      signal += signals[c];
      noise += noises[c];
    }
    return decibels(signal, noise);
  }

 private:
  using Terms = std::vector<ColumnTerm>;

  static Terms real(Numbers weights) {
    Terms terms;
    terms.reserve(weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      terms.push_back({static_cast<int64_t>(i), double{weights[i]}});
    }
    return terms;
  }

  Terms quantized(const WeightFormat& format, Numbers weights, float clip) const {
    const ChannelBounds bounds{magnitudes(format, weights, weight_.constant->name), clip};
    Terms terms = real(weights);
    if (format.dtype == DType::i16) {
      std::vector<int16_t> codes(weights.size());
      const double scale = channel_codes(format, weights, bounds, codes.data());
      for (size_t i = 0; i < codes.size(); ++i) terms[i].factor = scale * codes[i];
      return terms;
    }
    std::vector<int8_t> codes(weights.size());
    const auto block = static_cast<size_t>(format.block);
    std::vector<uint8_t> factors(block == 0 ? 0 : weights.size() / block);
    const double scale = channel_codes(format, weights, bounds, codes.data(), factors.data());
    for (size_t i = 0; i < codes.size(); ++i) {
      terms[i].factor = scale * codes[i] * (block == 0 ? 1 : factors[i / block]);
    }
    return terms;
  }

  static std::vector<double> product(const SampleColumns& columns, const Terms& terms) {
    std::vector<double> products(columns.rows());
    columns.add(terms, products);
    return products;
  }

  const Value& weight_;
  int64_t k_;
  Numbers samples_;
  SampleColumns columns_;
  SampleColumns stored_;
};

/// The rule for a recipe that gives one module 8 bits.
std::string rule_for(const std::string& module) {
  std::string expression = "^";
  for (const char c : module) expression += c == '.' ? std::string("\\.") : std::string(1, c);
  const nlohmann::ordered_json rule = {{"match", {{"op", "linear"}, {"module", expression + "$"}}},
                                       {"dtype", "16a8w"},
                                       {"granularity", "channel"}};
  return rule.dump();
}

}  // namespace

bool stands_out(const ProductAccuracy& product) {
  return product.outlier >= kOutlier || product.sqnr_db < kNoisyBelow;
}

std::vector<ProductAccuracy> product_accuracies(const Graph& graph,
                                                std::span<const WeightChoice> choices,
                                                const WeightPlan& plan, ThreadPool& pool) {
  std::vector<ProductAccuracy> products;
  for (const WeightChoice& choice : choices) {
    const Numbers samples = plan.samples->of(choice.node);
    if (choice.fixed || samples.empty()) continue;
    const Value& weight = graph.value(graph.node(choice.node).inputs[1]);
    const Measurement measured(weight, choice.activation, samples);
    ProductAccuracy& product = products.emplace_back();
    product.module = choice.module;
    product.format = choice.format;
    product.sqnr_db = measured.sqnr_db(choice.format, plan.search_steps, pool);
    product.sqnr_db_8_bits = choice.format == kEightBits
                                 ? product.sqnr_db
                                 : measured.sqnr_db(kEightBits, plan.search_steps, pool);
    product.outlier = outlier_of(samples, weight.shape.at(1));
  }
  return products;
}

std::string describe(std::span<const ProductAccuracy> products) {
  std::vector<ProductAccuracy> worst;
  std::copy_if(products.begin(), products.end(), std::back_inserter(worst), stands_out);
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.outlier > b.outlier; });
  std::string text = fmt::format(
      "{} of {} products stand out: a channel of the input is {:.0f} times the median "
      "channel, or the product is below {:.0f} dB\n",
      worst.size(), products.size(), kOutlier, kNoisyBelow);
  std::string rules;
  for (const ProductAccuracy& product : worst) {
    text +=
        fmt::format("  {}: {}, {:.1f} dB ({:.1f} dB with 8 bits), largest channel {:.0f} times\n",
                    product.module, to_string(product.format), product.sqnr_db,
                    product.sqnr_db_8_bits, product.outlier);
    if (product.format.dtype == DType::i4) rules += "  " + rule_for(product.module) + "\n";
  }
  if (!rules.empty()) text += "rules for the recipe that give them 8 bits:\n" + rules;
  return text;
}

}  // namespace lathe
