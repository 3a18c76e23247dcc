#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

class RmsNormTest : public KernelTest {};

TEST_P(RmsNormTest, IsWithinOneCodeOfTheTrueValueAndTheSameEverywhere) {
  for (const size_t k : {1, 2, 15, 16, 17, 64, 576, 2048, 4099}) {
    for (const Affine from : {Affine{0.001f, 32768}, Affine{0.37f, 65}, Affine{1e-5f, 0}}) {
      const std::vector<uint16_t> x = random_u16(k, static_cast<uint32_t>(k));
      std::vector<float> gamma(k);
      for (size_t i = 0; i < k; ++i) gamma[i] = 0.25f + 0.01f * static_cast<float>(i % 91);
      const Affine to{0.00011f, 30000};
      const float epsilon = 1e-5f;
      const auto n = static_cast<int64_t>(k);

      std::vector<uint16_t> y(k);
      kernels().rms_norm(x.data(), gamma.data(), y.data(), n, epsilon, from, to);

      double squares = 0;
      for (const uint16_t code : x) {
        squares += std::pow(static_cast<double>(reference_decode(code, from)), 2);
      }
      const double root = std::sqrt(squares / static_cast<double>(k) + epsilon);
      std::vector<uint16_t> expected;
      for (size_t i = 0; i < k; ++i) {
        expected.push_back(static_cast<uint16_t>(reference_encode(
            static_cast<float>(gamma[i] * (reference_decode(x[i], from) / root)), to)));
      }
      EXPECT_LE(largest_difference(y, expected), 1) << k;

      std::vector<uint16_t> same(k);
      portable().rms_norm(x.data(), gamma.data(), same.data(), n, epsilon, from, to);
      EXPECT_EQ(y, same) << k;
    }
  }
}

TEST_P(RmsNormTest, OfZerosIsZero) {
  const std::vector<uint16_t> x(48, 500);
  const std::vector<float> gamma(48, 3.0f);
  std::vector<uint16_t> y(48);
  kernels().rms_norm(x.data(), gamma.data(), y.data(), 48, 1e-5f, {0.5f, 500}, {0.001f, 1234});
  EXPECT_EQ(y, std::vector<uint16_t>(48, 1234));
}

LATHE_ON_EVERY_ISA(RmsNormTest);

}  // namespace
}  // namespace lathe
