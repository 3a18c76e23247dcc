#include "graph/halved_pairs.h"

#include <memory>
#include <utility>
#include <vector>

#include "support/rotary_pairs.h"

namespace lathe {
namespace {

/// Rows of a matrix, or elements of a vector, in the order of halves.
class HalvedPairs final : public FloatSource {
 public:
  HalvedPairs(std::shared_ptr<const FloatSource> source, const Shape& shape, int64_t head_dim,
              int64_t rotating)
      : source_(std::move(source)),
        channels_(shape[0]),
        width_(elements(shape) / shape[0]),
        head_dim_(head_dim),
        rotating_(rotating) {}

  void read(int64_t begin, int64_t count, float* out) const override {
    if (width_ == 1) {
      // A vector is read as a whole: its blocks may reach over channels that change places.
      std::vector<float> all(static_cast<size_t>(channels_));
      source_->read(0, channels_, all.data());
      for (int64_t i = 0; i < count; ++i) out[i] = all[static_cast<size_t>(stored(begin + i))];
      return;
    }
    for (int64_t row = begin / width_; row < (begin + count) / width_; ++row) {
      source_->read(stored(row) * width_, width_, out);
      out += width_;
    }
  }

 private:
  int64_t stored(int64_t channel) const { return channel_in_pairs(channel, head_dim_, rotating_); }

  std::shared_ptr<const FloatSource> source_;
  int64_t channels_;
  int64_t width_;
  int64_t head_dim_;
  int64_t rotating_;
};

}  // namespace

Value halved_pairs(const Value& value, int64_t head_dim, int64_t rotating) {
  constexpr const char* kSuffix = ".halves";
  Value halves = value;
  halves.name += kSuffix;
  auto constant = std::make_shared<Constant>(*value.constant);
  constant->name += kSuffix;
  constant->floats =
      std::make_shared<HalvedPairs>(value.constant->floats, value.shape, head_dim, rotating);
  halves.constant = std::move(constant);
  return halves;
}

}  // namespace lathe
