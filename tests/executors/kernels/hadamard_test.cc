#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

/// One row by the definition: y[i] = sum over j of (-1)^popcount(i & j) x[j] / sqrt(k).
std::vector<double> exact_hadamard(const std::vector<uint16_t>& x, Affine from) {
  std::vector<double> y(x.size(), 0.0);
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j) {
      const double real = reference_decode(x[j], from);
      y[i] += __builtin_popcountll(i & j) % 2 == 0 ? real : -real;
    }
    y[i] /= std::sqrt(static_cast<double>(x.size()));
  }
  return y;
}

class HadamardTest : public KernelTest {};

TEST_P(HadamardTest, IsTheProductWithTheMatrix) {
  const Affine from{0.0005f, 30000};
  const Affine to{0.004f, 33000};
  for (const size_t k : {1, 2, 4, 16, 64, 128, 256, 1024}) {
    const std::vector<uint16_t> x = random_u16(k, 1);
    std::vector<uint16_t> y(k);
    std::vector<float> scratch(k);
    kernels().hadamard(x.data(), y.data(), static_cast<int64_t>(k), from, to, scratch.data());
    const std::vector<double> expected = exact_hadamard(x, from);
    for (size_t i = 0; i < k; ++i) {
      ASSERT_LE(std::abs(y[i] - reference_encode(static_cast<float>(expected[i]), to)), 1) << k;
    }
    std::vector<uint16_t> same(k);
    portable().hadamard(x.data(), same.data(), static_cast<int64_t>(k), from, to, scratch.data());
    EXPECT_EQ(y, same) << k;
  }
}

TEST_P(HadamardTest, MayWriteOverItsInput) {
  std::vector<uint16_t> x = random_u16(64, 1);
  std::vector<uint16_t> y(64);
  std::vector<float> scratch(64);
  const Affine from{0.0005f, 30000};
  const Affine to{0.0007f, 33000};
  kernels().hadamard(x.data(), y.data(), 64, from, to, scratch.data());
  kernels().hadamard(x.data(), x.data(), 64, from, to, scratch.data());
  EXPECT_EQ(x, y);
}

LATHE_ON_EVERY_ISA(HadamardTest);

}  // namespace
}  // namespace lathe
