#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

constexpr Affine kNarrow{0.000123f, 40000};
constexpr Affine kWide{0.0371f, 123};
constexpr Affine kEven{0.0005f, 32768};
constexpr Affine kFirst{0.001f, 0};
constexpr Affine kLast{0.001f, 65535};

std::vector<uint16_t> all_codes() {
  std::vector<uint16_t> codes(65536);
  std::iota(codes.begin(), codes.end(), uint16_t{0});
  return codes;
}

std::vector<uint16_t> expected_of(const std::vector<uint16_t>& x,
                                  const std::function<int(uint16_t)>& rule) {
  std::vector<uint16_t> y;
  for (const uint16_t code : x) y.push_back(static_cast<uint16_t>(rule(code)));
  return y;
}

class ElementwiseTest : public KernelTest {
 protected:
  using Unary = void (*Kernels::*)(const uint16_t*, uint16_t*, int64_t, Affine, Affine) noexcept;

  /// For every code: within one code of the true value, on all instruction sets the same.
  void expect_within_one_code(Unary kernel, Affine from, Affine to,
                              const std::function<double(double)>& function) const {
    const std::vector<uint16_t> x = all_codes();
    std::vector<uint16_t> y(x.size());
    (kernels().*kernel)(x.data(), y.data(), 65536, from, to);
    const std::vector<uint16_t> expected = expected_of(x, [&](uint16_t code) {
      return reference_encode(static_cast<float>(function(reference_decode(code, from))), to);
    });
    EXPECT_LE(largest_difference(y, expected), 1);

    std::vector<uint16_t> same(x.size());
    (portable().*kernel)(x.data(), same.data(), 65536, from, to);
    EXPECT_EQ(y, same);
  }
};

TEST_P(ElementwiseTest, AddSubAndMulRoundOnce) {
  for (const size_t count : {1, 15, 16, 17, 63, 1000}) {
    for (const BinaryEncodings& e :
         {BinaryEncodings{kNarrow, kWide, kEven}, BinaryEncodings{kFirst, kLast, kNarrow},
          BinaryEncodings{kEven, kEven, kWide}}) {
      const std::vector<uint16_t> a = random_u16(count, 1);
      const std::vector<uint16_t> b = random_u16(count, 2);
      std::vector<uint16_t> sum(count);
      std::vector<uint16_t> difference(count);
      std::vector<uint16_t> product(count);
      kernels().add(a.data(), b.data(), sum.data(), static_cast<int64_t>(count), e);
      kernels().sub(a.data(), b.data(), difference.data(), static_cast<int64_t>(count), e);
      kernels().mul(a.data(), b.data(), product.data(), static_cast<int64_t>(count), e);
      for (size_t i = 0; i < count; ++i) {
        const float left = reference_decode(a[i], e.a);
        const float right = reference_decode(b[i], e.b);
        ASSERT_EQ(sum[i], reference_encode(left + right, e.y)) << i;
        ASSERT_EQ(difference[i], reference_encode(left - right, e.y)) << i;
        ASSERT_EQ(product[i], reference_encode(left * right, e.y)) << i;
      }
    }
  }
}

TEST_P(ElementwiseTest, MayWriteOverItsInput) {
  const BinaryEncodings e{kNarrow, kEven, kWide};
  std::vector<uint16_t> a = random_u16(333, 1);
  const std::vector<uint16_t> b = random_u16(333, 2);
  std::vector<uint16_t> apart(333);
  kernels().add(a.data(), b.data(), apart.data(), 333, e);
  kernels().add(a.data(), b.data(), a.data(), 333, e);
  EXPECT_EQ(a, apart);
}

TEST_P(ElementwiseTest, ScalarsAndNegOfEveryCode) {
  const std::vector<uint16_t> x = all_codes();
  std::vector<uint16_t> y(x.size());
  for (const Affine from : {kNarrow, kWide, kFirst, kLast}) {
    kernels().mul_scalar(x.data(), 0.125f, y.data(), 65536, from, kEven);
    EXPECT_EQ(y, expected_of(x, [&](uint16_t code) {
                return reference_encode(reference_decode(code, from) * 0.125f, kEven);
              }));
    kernels().add_scalar(x.data(), -0.37f, y.data(), 65536, from, kEven);
    EXPECT_EQ(y, expected_of(x, [&](uint16_t code) {
                return reference_encode(reference_decode(code, from) + -0.37f, kEven);
              }));
    kernels().div_scalar(x.data(), 50.0f, y.data(), 65536, from, kNarrow);
    EXPECT_EQ(y, expected_of(x, [&](uint16_t code) {
                return reference_encode(reference_decode(code, from) / 50.0f, kNarrow);
              }));
    kernels().neg(x.data(), y.data(), 65536, from, kNarrow);
    EXPECT_EQ(y, expected_of(x, [&](uint16_t code) {
                return reference_encode(-reference_decode(code, from), kNarrow);
              }));
  }
}

TEST_P(ElementwiseTest, RequantizeOfEveryCode) {
  const std::vector<uint16_t> x = all_codes();
  std::vector<uint16_t> y(x.size());
  kernels().requantize_u16_u16(x.data(), y.data(), 65536, kWide, kEven);
  EXPECT_EQ(y, expected_of(x, [](uint16_t code) {
              return reference_encode(reference_decode(code, kWide), kEven);
            }));

  const Affine symmetric{0.05f, 128};
  std::vector<uint8_t> bytes(x.size());
  kernels().requantize_u16_u8(x.data(), bytes.data(), 65536, kEven, symmetric);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(bytes[i], reference_encode(reference_decode(x[i], kEven), symmetric, 255));
  }
  kernels().requantize_u8_u16(bytes.data(), y.data(), 65536, symmetric, kEven);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i], reference_encode(reference_decode(bytes[i], symmetric), kEven));
  }
}

TEST_P(ElementwiseTest, RequantizeToTheSameEncodingChangesNothing) {
  const std::vector<uint16_t> x = all_codes();
  std::vector<uint16_t> y(x.size());
  for (const Affine same : {kNarrow, kWide, kEven, kFirst, kLast, Affine{1.5258789e-9f, 777}}) {
    kernels().requantize_u16_u16(x.data(), y.data(), 65536, same, same);
    EXPECT_EQ(y, x);
  }
}

TEST_P(ElementwiseTest, SiluIsWithinOneCodeOfTheTrueValue) {
  for (const Affine from : {kEven, kWide, Affine{0.01f, 60000}}) {
    // The range of silu starts at -0.2785.
    const float scale =
        (static_cast<float>(65535 - from.zero_point) * from.scale + 0.2785f) / 65535;
    expect_within_one_code(&Kernels::silu, from, {scale, static_cast<int32_t>(0.2785f / scale)},
                           [](double x) { return x / (1.0 + std::exp(-x)); });
  }
}

TEST_P(ElementwiseTest, SigmoidIsWithinOneCodeOfTheTrueValue) {
  for (const Affine from : {kEven, kWide, Affine{0.01f, 60000}}) {
    expect_within_one_code(&Kernels::sigmoid, from, {1.0f / 65536.0f, 0},
                           [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
  }
}

TEST_P(ElementwiseTest, TanhIsWithinOneCodeOfTheTrueValue) {
  // Wide ones, and one so narrow that tanh is nearly the identity: codes are as narrow then.
  for (const Affine from : {kEven, kWide, Affine{0.01f, 60000}, Affine{3e-8f, 32768}}) {
    expect_within_one_code(&Kernels::tanh, from, {std::min(from.scale, 1.0f / 32768.0f), 32768},
                           [](double x) { return std::tanh(x); });
  }
}

TEST_P(ElementwiseTest, GeluIsWithinOneCodeOfTheTrueValue) {
  for (const Affine from : {kEven, kWide, Affine{0.01f, 60000}}) {
    // The range of gelu starts at -0.1701.
    const float scale =
        (static_cast<float>(65535 - from.zero_point) * from.scale + 0.1701f) / 65535;
    expect_within_one_code(
        &Kernels::gelu_tanh, from, {scale, static_cast<int32_t>(0.1701f / scale)}, [](double x) {
          const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
          return 0.5 * x * (1.0 + std::tanh(u));
        });
  }
}

TEST_P(ElementwiseTest, GatedProductsEqualTheirTwoSteps) {
  const GatedEncodings e{kEven, {0.00026f, 1100}, kNarrow, {0.0011f, 30000}};
  for (const size_t count : {1, 17, 1536}) {
    const std::vector<uint16_t> gate = random_u16(count, 3);
    const std::vector<uint16_t> up = random_u16(count, 4);
    const auto n = static_cast<int64_t>(count);
    std::vector<uint16_t> activated(count);
    std::vector<uint16_t> expected(count);
    std::vector<uint16_t> fused(count);
    kernels().silu(gate.data(), activated.data(), n, e.gate, e.activated);
    kernels().mul(activated.data(), up.data(), expected.data(), n, {e.activated, e.up, e.y});
    kernels().silu_mul(gate.data(), up.data(), fused.data(), n, e);
    EXPECT_EQ(fused, expected);
    kernels().gelu_tanh(gate.data(), activated.data(), n, e.gate, e.activated);
    kernels().mul(activated.data(), up.data(), expected.data(), n, {e.activated, e.up, e.y});
    kernels().gelu_tanh_mul(gate.data(), up.data(), fused.data(), n, e);
    EXPECT_EQ(fused, expected);
  }
}

TEST_P(ElementwiseTest, DequantizeIsOneProduct) {
  const std::vector<uint16_t> x = all_codes();
  std::vector<float> y(x.size());
  kernels().dequantize_u16(x.data(), y.data(), 65536, kNarrow);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], reference_decode(x[i], kNarrow));
}

TEST_P(ElementwiseTest, ArgmaxIsTheFirstOfEquals) {
  for (const size_t count : {1, 2, 31, 32, 33, 1000}) {
    std::vector<uint16_t> x = random_codes<uint16_t>(count, 5, 0, 40);
    EXPECT_EQ(kernels().argmax(x.data(), static_cast<int64_t>(count)),
              std::max_element(x.begin(), x.end()) - x.begin());
    std::fill(x.begin(), x.end(), uint16_t{0});
    EXPECT_EQ(kernels().argmax(x.data(), static_cast<int64_t>(count)), 0);
    x.back() = 65535;
    EXPECT_EQ(kernels().argmax(x.data(), static_cast<int64_t>(count)),
              static_cast<int64_t>(count) - 1);
  }
}

LATHE_ON_EVERY_ISA(ElementwiseTest);

}  // namespace
}  // namespace lathe
