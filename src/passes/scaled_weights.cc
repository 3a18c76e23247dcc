#include "passes/scaled_weights.h"

#include <utility>

namespace lathe {
namespace {

class ScaledRows final : public FloatSource {
 public:
  ScaledRows(std::shared_ptr<const FloatSource> source, int64_t columns, std::vector<float> factors)
      : source_(std::move(source)), columns_(columns), factors_(std::move(factors)) {}
  void read(int64_t begin, int64_t count, float* out) const override {
    source_->read(begin, count, out);
    for (int64_t i = 0; i < count; ++i) {
      out[i] *= factors_[static_cast<size_t>((begin + i) / columns_)];
    }
  }

 private:
  std::shared_ptr<const FloatSource> source_;
  int64_t columns_;
  std::vector<float> factors_;  // [rows]
};

class ScaledColumns final : public FloatSource {
 public:
  ScaledColumns(std::shared_ptr<const FloatSource> source, std::vector<float> factors)
      : source_(std::move(source)), factors_(std::move(factors)) {}
  void read(int64_t begin, int64_t count, float* out) const override {
    source_->read(begin, count, out);
    auto column = static_cast<size_t>(begin) % factors_.size();
    for (int64_t i = 0; i < count; ++i) {
      out[i] *= factors_[column];
      if (++column == factors_.size()) column = 0;
    }
  }

 private:
  std::shared_ptr<const FloatSource> source_;
  std::vector<float> factors_;  // [columns]
};

}  // namespace

std::shared_ptr<const FloatSource> scale_rows(std::shared_ptr<const FloatSource> source,
                                              int64_t columns, std::vector<float> factors) {
  return std::make_shared<ScaledRows>(std::move(source), columns, std::move(factors));
}

std::shared_ptr<const FloatSource> scale_columns(std::shared_ptr<const FloatSource> source,
                                                 std::vector<float> factors) {
  return std::make_shared<ScaledColumns>(std::move(source), std::move(factors));
}

}  // namespace lathe
