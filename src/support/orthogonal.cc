#include "support/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/random.h"

namespace lathe {
namespace {

/// Orthonormal DCT-II: row k is sqrt((k > 0 ? 2 : 1) / n) cos(pi (2 i + 1) k / (2 n)).
std::vector<float> cosine_matrix(int64_t n) {
  std::vector<float> rows;
  for (int64_t k = 0; k < n; ++k) {
    const double scale = std::sqrt((k > 0 ? 2.0 : 1.0) / static_cast<double>(n));
    for (int64_t i = 0; i < n; ++i) {
      const double angle =
          std::numbers::pi * static_cast<double>((2 * i + 1) * k) / static_cast<double>(2 * n);
      rows.push_back(static_cast<float>(scale * std::cos(angle)));
    }
  }
  return rows;
}

}  // namespace

Orthogonal::Orthogonal(int64_t size) : odd_(size) {
  SplitMix64 random(static_cast<uint64_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    signs_.push_back((random.next() & 1) != 0 ? 1.0f : -1.0f);
  }
  while (odd_ % 2 == 0) odd_ /= 2;
  cosine_ = cosine_matrix(odd_);
}

void Orthogonal::apply(float* x, int64_t count, int64_t stride) const {
  const int64_t power = size() / odd_;
  const float scale = 1.0f / std::sqrt(static_cast<float>(power));
  for (int64_t i = 0; i < size(); ++i) {
    const float factor = signs_[static_cast<size_t>(i)] * scale;
    for (int64_t v = 0; v < count; ++v) x[i * stride + v] *= factor;
  }
  // Fast Walsh-Hadamard transform of each of the `odd_` runs of `power` elements.
  for (int64_t half = 1; half < power; half *= 2) {
    for (int64_t start = 0; start < size(); start += 2 * half) {
      for (int64_t i = start; i < start + half; ++i) {
        float* low = x + i * stride;
        float* high = x + (i + half) * stride;
        for (int64_t v = 0; v < count; ++v) {
          const float sum = low[v] + high[v];
          high[v] = low[v] - high[v];
          low[v] = sum;
        }
      }
    }
  }
  if (odd_ == 1) return;
  std::vector<float> mixed(static_cast<size_t>(odd_ * count));  // [odd_, count]
  for (int64_t i = 0; i < power; ++i) {
    std::fill(mixed.begin(), mixed.end(), 0.0f);
    for (int64_t to = 0; to < odd_; ++to) {
      for (int64_t from = 0; from < odd_; ++from) {
        const float weight = cosine_[static_cast<size_t>(to * odd_ + from)];
        const float* in = x + (from * power + i) * stride;
        float* out = mixed.data() + to * count;
        for (int64_t v = 0; v < count; ++v) out[v] += weight * in[v];
      }
    }
    for (int64_t to = 0; to < odd_; ++to) {
      std::copy_n(mixed.data() + to * count, count, x + (to * power + i) * stride);
    }
  }
}

}  // namespace lathe
