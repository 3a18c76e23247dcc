#include "passes/rotated_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lathe {
namespace {

class RotatedRows final : public FloatSource {
 public:
  RotatedRows(std::shared_ptr<const FloatSource> source, int64_t columns,
              const std::shared_ptr<const FloatSource>& gamma, std::shared_ptr<const Orthogonal> q)
      : source_(std::move(source)), q_(std::move(q)), gamma_(static_cast<size_t>(columns), 1.0f) {
    if (gamma != nullptr) gamma->read(0, columns, gamma_.data());
  }

  void read(int64_t begin, int64_t count, float* out) const override {
    source_->read(begin, count, out);
    const auto columns = static_cast<int64_t>(gamma_.size());
    for (float* row = out; row < out + count; row += columns) {
      for (int64_t i = 0; i < columns; ++i) row[i] *= gamma_[static_cast<size_t>(i)];
    }
    const int64_t runs = count / q_->size();
    std::vector<float> side_by_side(static_cast<size_t>(q_->size() * kBlock));  // [size, kBlock]
    for (int64_t run = 0; run < runs; run += kBlock) {
      rotate(out + run * q_->size(), std::min(kBlock, runs - run), side_by_side.data());
    }
  }

 private:
  // Runs are rotated side by side, one vector register wide.
  static constexpr int64_t kBlock = 16;

  void rotate(float* runs, int64_t count, float* side_by_side) const {
    const int64_t size = q_->size();
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t i = 0; i < size; ++i) side_by_side[i * kBlock + r] = runs[r * size + i];
    }
    q_->apply(side_by_side, kBlock, kBlock);
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t i = 0; i < size; ++i) runs[r * size + i] = side_by_side[i * kBlock + r];
    }
  }

  std::shared_ptr<const FloatSource> source_;
  std::shared_ptr<const Orthogonal> q_;
  std::vector<float> gamma_;  // [columns]
};

}  // namespace

std::shared_ptr<const FloatSource> rotate_rows(std::shared_ptr<const FloatSource> source,
                                               const Shape& shape,
                                               std::shared_ptr<const FloatSource> gamma,
                                               std::shared_ptr<const Orthogonal> q) {
  return std::make_shared<RotatedRows>(std::move(source), shape.back(), gamma, std::move(q));
}

class ColumnRotator::Rotated final : public FloatSource {
 public:
  Rotated(std::shared_ptr<ColumnRotator> rotator, int number,
          std::shared_ptr<const FloatSource> source, Shape shape)
      : rotator_(std::move(rotator)),
        number_(number),
        source_(std::move(source)),
        shape_(std::move(shape)) {}

  void read(int64_t begin, int64_t count, float* out) const override {
    const Matrix whole = rotator_->matrix(number_, *source_, shape_);
    std::copy_n(whole->begin() + begin, count, out);
  }

 private:
  std::shared_ptr<ColumnRotator> rotator_;
  int number_;
  std::shared_ptr<const FloatSource> source_;
  Shape shape_;
};

std::shared_ptr<const FloatSource> ColumnRotator::rotate(std::shared_ptr<const FloatSource> source,
                                                         const Shape& shape) {
  return std::make_shared<Rotated>(shared_from_this(), count_++, std::move(source), shape);
}

ColumnRotator::Matrix ColumnRotator::matrix(int number, const FloatSource& source,
                                            const Shape& shape) {
  const std::lock_guard lock(mutex_);
  if (last_number_ == number) return last_;
  last_ = nullptr;
  last_number_ = -1;
  const int64_t count = elements(shape);
  const int64_t columns = count / shape[0];
  auto matrix = std::make_shared<std::vector<float>>(static_cast<size_t>(count));
  source.read(0, count, matrix->data());
  for (int64_t row = 0; row < shape[0]; row += q_->size()) {
    q_->apply(matrix->data() + row * columns, columns, columns);
  }
  last_ = std::move(matrix);
  last_number_ = number;
  return last_;
}

}  // namespace lathe
