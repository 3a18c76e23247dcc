#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe {

/// What one column of the samples adds to a product.
struct ColumnTerm {
  int64_t column;
  double factor;
};

/// Rows [rows, K] of a product's input, kept the other way round: [K, rows]. A product with a
/// channel of weights is a sum of columns, for all rows at once.
class SampleColumns {
 public:
  SampleColumns(std::span<const float> samples, int64_t k);

  size_t rows() const { return static_cast<size_t>(rows_); }

  /// products[r] += factor * samples[r, column], for one term after the other.
  void add(std::span<const ColumnTerm> terms, std::vector<double>& products) const;

 private:
  const float* column(const ColumnTerm& term) const {
    return columns_.data() + term.column * rows_;
  }
  void add_four(const ColumnTerm* terms, std::vector<double>& products) const;

  int64_t rows_;
  std::vector<float> columns_;
};

}  // namespace lathe
