#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "support/tensor.h"

namespace lathe {

/// Walks N tensors of one shape, each by its own strides, row by row. Dimensions that lie one
/// behind the other in all N are merged, so a row is as long as memory allows.
template <size_t N>
class StridedLoop {
 public:
  using Offsets = std::array<int64_t, N>;  ///< in elements, one per tensor

  StridedLoop(const Shape& shape, const std::array<Shape, N>& strides) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      bool continues = !sizes_.empty();
      for (size_t k = 0; k < N && continues; ++k) {
        continues = strides_[k].back() == strides[k][d] * shape[d];
      }
      if (continues) {
        sizes_.back() *= shape[d];
        for (size_t k = 0; k < N; ++k) strides_[k].back() = strides[k][d];
      } else {
        sizes_.push_back(shape[d]);
        for (size_t k = 0; k < N; ++k) strides_[k].push_back(strides[k][d]);
      }
    }
    if (sizes_.empty()) {
      sizes_.push_back(1);
      for (Shape& s : strides_) s.push_back(1);
    }
    width_ = sizes_.back();
    sizes_.pop_back();
    for (size_t k = 0; k < N; ++k) {
      steps_[k] = strides_[k].back();
      strides_[k].pop_back();
    }
    rows_ = width_ == 0 ? 0 : elements(sizes_);
  }

  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }         ///< elements of a row
  const Offsets& steps() const { return steps_; }  ///< strides inside a row

  /// Where row `row` starts.
  Offsets start_of(int64_t row) const {
    Offsets offsets{};
    for (size_t d = sizes_.size(); d-- > 0 && row > 0;) {
      for (size_t k = 0; k < N; ++k) offsets[k] += row % sizes_[d] * strides_[k][d];
      row /= sizes_[d];
    }
    return offsets;
  }

  /// Calls visit(offsets) with the start of every row in [begin, end).
  template <typename Visit>
  void visit_rows(int64_t begin, int64_t end, const Visit& visit) const {
    Shape index(sizes_.size(), 0);
    Offsets offsets{};
    int64_t rest = begin;
    for (size_t d = sizes_.size(); d-- > 0 && rest > 0;) {
      index[d] = rest % sizes_[d];
      rest /= sizes_[d];
      for (size_t k = 0; k < N; ++k) offsets[k] += index[d] * strides_[k][d];
    }
    for (int64_t row = begin; row < end; ++row) {
      visit(offsets);
      for (size_t d = sizes_.size(); d-- > 0;) {
        for (size_t k = 0; k < N; ++k) offsets[k] += strides_[k][d];
        if (++index[d] < sizes_[d]) break;
        for (size_t k = 0; k < N; ++k) offsets[k] -= strides_[k][d] * sizes_[d];
        index[d] = 0;
      }
    }
  }

 private:
  Shape sizes_;  // of the dimensions around a row
  std::array<Shape, N> strides_;
  Offsets steps_{};
  int64_t width_ = 1;
  int64_t rows_ = 0;
};

}  // namespace lathe
