#include <algorithm>

#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

constexpr Affine kUnit{1.0f / 65536.0f, 0};

std::vector<uint16_t> exact_softmax(const std::vector<uint16_t>& x, Affine from) {
  const double top = reference_decode(*std::max_element(x.begin(), x.end()), from);
  double sum = 0.0;
  for (const uint16_t code : x) sum += std::exp(reference_decode(code, from) - top);
  std::vector<uint16_t> y;
  for (const uint16_t code : x) {
    const double p = std::exp(reference_decode(code, from) - top) / sum;
    y.push_back(static_cast<uint16_t>(reference_encode(static_cast<float>(p), kUnit)));
  }
  return y;
}

class SoftmaxTest : public KernelTest {};

TEST_P(SoftmaxTest, IsWithinOneCodeOfTheTrueValue) {
  for (const Affine from : {Affine{0.0003f, 40000}, Affine{0.0045f, 61000}, Affine{1e-6f, 3}}) {
    for (const size_t k : {1, 2, 15, 16, 17, 100, 1024, 3001}) {
      const std::vector<uint16_t> x = random_u16(k, 1);
      std::vector<uint16_t> y(k);
      std::vector<uint16_t> same(k);
      std::vector<float> scratch(k);
      kernels().softmax(x.data(), y.data(), static_cast<int64_t>(k), from, scratch.data());
      EXPECT_LE(largest_difference(y, exact_softmax(x, from)), 1) << k;
      portable().softmax(x.data(), same.data(), static_cast<int64_t>(k), from, scratch.data());
      EXPECT_EQ(y, same) << k;
    }
  }
}

TEST_P(SoftmaxTest, MayWriteOverItsInput) {
  const Affine from{0.0003f, 40000};
  std::vector<uint16_t> x = random_u16(100, 1);
  std::vector<uint16_t> y(100);
  std::vector<float> scratch(100);
  kernels().softmax(x.data(), y.data(), 100, from, scratch.data());
  kernels().softmax(x.data(), x.data(), 100, from, scratch.data());
  EXPECT_EQ(x, y);
}

LATHE_ON_EVERY_ISA(SoftmaxTest);

}  // namespace
}  // namespace lathe
