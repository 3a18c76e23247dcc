#include "quant/scale_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "quant/channel_codes.h"
#include "quant/float_blocks.h"
#include "quant/quantized_weights.h"
#include "quant/range.h"
#include "quant/sample_columns.h"

namespace lathe {
namespace {

using Numbers = std::span<const float>;

/// The search for one channel of weights [K] after the other.
///
/// Between neighbouring fractions few codes change, so the samples' products with the codes are
/// kept and corrected for those alone: a hundred fractions cost about as much as five products.
class ChannelSearch {
 public:
  ChannelSearch(const WeightFormat& format, const SampleColumns& samples, int64_t k)
      : format_(format),
        samples_(samples),
        codes_(static_cast<size_t>(k)),
        factors_(static_cast<size_t>(format.block == 0 ? 0 : k / format.block)),
        effective_(static_cast<size_t>(k)),
        target_(samples.rows()),
        products_(samples.rows()) {}

  float run(Numbers weights, ChannelBounds bounds, int steps) {
    weights_ = weights;
    bounds_ = std::move(bounds);
    start();
    const double coarse = 1.0 / steps;
    // Rounding errors fall with the fraction and clipping errors rise, both of them in convex
    // curves: where the error is this many times the smallest, the smallest lies behind.
    constexpr double kFarUp = 4.0;
    for (int i = steps; i >= 1; --i) {
      if (try_clip(i * coarse) > kFarUp * smallest_) break;
    }
    const double middle = best_;
    const double fine = 2.0 * coarse / steps;
    for (int i = steps; i >= 0; --i) {
      const double clip = middle - coarse + i * fine;
      if (clip > 0.0 && clip <= 1.0) try_clip(clip);
    }
    return best_;
  }

 private:
  void start() {
    std::fill(effective_.begin(), effective_.end(), 0);
    std::fill(products_.begin(), products_.end(), 0.0);
    std::fill(target_.begin(), target_.end(), 0.0);
    terms_.clear();
    for (size_t i = 0; i < weights_.size(); ++i) {
      terms_.push_back({static_cast<int64_t>(i), double{weights_[i]}});
    }
    samples_.add(terms_, target_);
    best_ = 1.0f;
    smallest_ = std::numeric_limits<double>::infinity();
  }

  /// The error at that fraction; keeps the fraction where the error is the smallest so far.
  double try_clip(double fraction) {
    const auto clip = static_cast<float>(fraction);  // as the table of clips holds it
    bounds_.clip = clip;
    const double scale = channel_codes(format_, weights_, bounds_, codes_.data(), factors_.data());
    terms_.clear();
    for (size_t i = 0; i < codes_.size(); ++i) {
      const int32_t code = codes_[i] * factor_of(i);
      if (code == effective_[i]) continue;
      terms_.push_back({static_cast<int64_t>(i), static_cast<double>(code - effective_[i])});
      effective_[i] = code;
    }
    samples_.add(terms_, products_);
    double error = 0.0;
    for (size_t r = 0; r < products_.size(); ++r) {
      const double difference = target_[r] - scale * products_[r];
      error += difference * difference;
    }
    if (error < smallest_) {
      smallest_ = error;
      best_ = clip;
    }
    return error;
  }

  int32_t factor_of(size_t column) const {
    return factors_.empty() ? 1 : factors_[column / static_cast<size_t>(format_.block)];
  }

  WeightFormat format_;
  const SampleColumns& samples_;
  Numbers weights_;
  ChannelBounds bounds_;
  std::vector<int8_t> codes_;       // [K], at the fraction that is tried
  std::vector<uint8_t> factors_;    // [K / block]
  std::vector<int32_t> effective_;  // [K], code * factor that products_ are of
  std::vector<ColumnTerm> terms_;   // of the sum in the making
  std::vector<double> target_;      // [rows], samples times weights
  std::vector<double> products_;    // [rows], samples times effective_
  float best_ = 1.0f;
  double smallest_ = 0.0;
};

}  // namespace

std::vector<float> search_clips(const Constant& weight, const Shape& shape,
                                const WeightFormat& format, const std::vector<double>& floors,
                                std::span<const float> samples, int steps, ThreadPool& pool) {
  const int64_t channels = shape.at(0);
  const int64_t k = shape.at(1);
  require_whole_blocks(format, k, weight.name);
  if (!scan(samples.data(), static_cast<int64_t>(samples.size())).finite) {
    refuse_not_finite("samples of the input of " + weight.name);
  }
  std::vector<float> clips(static_cast<size_t>(channels), 1.0f);
  if (format.dtype == DType::i16) return clips;
  const SampleColumns columns(samples, k);
  for_float_blocks(weight, {channels, k}, 1, pool, [&](int64_t begin, int64_t end, Numbers block) {
    ChannelSearch search(format, columns, k);
    for (int64_t c = begin; c < end; ++c) {
      const auto channel = static_cast<size_t>(c);
      const Numbers weights =
          block.subspan(static_cast<size_t>((c - begin) * k), static_cast<size_t>(k));
      ChannelBounds bounds{magnitudes(format, weights, weight.name)};
      if (!floors.empty()) bounds.floor = floors[channel];
      clips[channel] = search.run(weights, std::move(bounds), steps);
    }
  });
  return clips;
}

}  // namespace lathe
