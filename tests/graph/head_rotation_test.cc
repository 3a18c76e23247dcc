#include "graph/head_rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lathe {
namespace {

// W W^T = 1 and no element dominates: what R3 asks of its matrix.
TEST(HeadRotation, IsOrthogonalAndSpreads) {
  constexpr size_t kSize = 24;
  std::vector<float> w(kSize * kSize);
  head_rotation(kSize)->floats->read(0, kSize * kSize, w.data());
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j < kSize; ++j) {
      double sum = 0.0;
      for (size_t k = 0; k < kSize; ++k) sum += w[i * kSize + k] * w[j * kSize + k];
      EXPECT_NEAR(sum, i == j ? 1.0 : 0.0, 1e-6);
      EXPECT_LT(std::abs(w[i * kSize + j]), 0.5f);
    }
  }
}

// A checkpoint may have a tensor of any name.
TEST(HeadRotation, IsToldByItsNumbersSourceAndNotByItsName) {
  EXPECT_TRUE(is_head_rotation(*head_rotation(6)));
  EXPECT_FALSE(is_head_rotation(*float_constant("head_rotation", std::vector<float>(36))));
  EXPECT_FALSE(is_head_rotation(*bytes_constant("head_rotation", std::vector<std::byte>(36))));
}

}  // namespace
}  // namespace lathe
