#include "quant/sample_columns.h"

#include <algorithm>

namespace lathe {

SampleColumns::SampleColumns(std::span<const float> samples, int64_t k)
    : rows_(static_cast<int64_t>(samples.size()) / std::max<int64_t>(k, 1)),
      columns_(samples.size()) {
  for (int64_t r = 0; r < rows_; ++r) {
    for (int64_t i = 0; i < k; ++i) {
      columns_[static_cast<size_t>(i * rows_ + r)] = samples[static_cast<size_t>(r * k + i)];
    }
  }
}

void SampleColumns::add(std::span<const ColumnTerm> terms, std::vector<double>& products) const {
  size_t t = 0;
  for (; t + 4 <= terms.size(); t += 4) add_four(terms.data() + t, products);
  for (; t < terms.size(); ++t) {
    const float* x = column(terms[t]);
    for (size_t r = 0; r < products.size(); ++r) products[r] += terms[t].factor * double{x[r]};
  }
}

/// Four terms in one pass over the products, in the same order.
void SampleColumns::add_four(const ColumnTerm* terms, std::vector<double>& products) const {
  const float* a = column(terms[0]);
  const float* b = column(terms[1]);
  const float* c = column(terms[2]);
  const float* d = column(terms[3]);
  for (size_t r = 0; r < products.size(); ++r) {
    double sum = products[r] + terms[0].factor * double{a[r]};
    sum += terms[1].factor * double{b[r]};
    sum += terms[2].factor * double{c[r]};
    products[r] = sum + terms[3].factor * double{d[r]};
  }
}

}  // namespace lathe
