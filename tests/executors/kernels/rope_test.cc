#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

/// The unfused chain for one head: x * cos + cat(-x2, x1) * sin.
std::vector<uint16_t> expected_rope(const std::vector<uint16_t>& x,
                                    const std::vector<uint16_t>& cos,
                                    const std::vector<uint16_t>& sin, const RopeEncodings& e) {
  const auto mul = [](int a, Affine ea, int b, Affine eb, Affine ey) {
    return reference_encode(reference_decode(a, ea) * reference_decode(b, eb), ey);
  };
  const size_t half = x.size() / 2;
  std::vector<uint16_t> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const float partner =
        i < half ? -reference_decode(x[i + half], e.x) : reference_decode(x[i - half], e.x);
    const int rotated = reference_encode(partner, e.rotated);
    const int x_cos = mul(x[i], e.x, cos[i], e.cos, e.x_cos);
    const int rotated_sin = mul(rotated, e.rotated, sin[i], e.sin, e.rotated_sin);
    y.push_back(static_cast<uint16_t>(reference_encode(
        reference_decode(x_cos, e.x_cos) + reference_decode(rotated_sin, e.rotated_sin), e.y)));
  }
  return y;
}

class RopeTest : public KernelTest {};

TEST_P(RopeTest, EqualsTheUnfusedChain) {
  const Affine unit{2.0f / 65535, 32768};
  RopeEncodings e;
  e.x = {0.0004f, 30000};
  e.cos = unit;
  e.sin = unit;
  e.rotated = {0.00041f, 33333};
  e.x_cos = {0.00035f, 31000};
  e.rotated_sin = {0.00037f, 32000};
  e.y = {0.0005f, 32768};
  for (const Affine rotated : {e.rotated, e.x}) {
    e.rotated = rotated;
    for (const size_t head_dim : {2, 6, 16, 32, 64, 80, 128, 256}) {
      const size_t heads = 3;
      const size_t stride = head_dim + 5;
      const std::vector<uint16_t> x = random_u16(heads * stride, 1);
      const std::vector<uint16_t> cos = random_u16(head_dim, 2);
      const std::vector<uint16_t> sin = random_u16(head_dim, 3);
      std::vector<uint16_t> y(heads * head_dim);
      RopeArgs args;
      args.x = x.data();
      args.x_stride = static_cast<int64_t>(stride);
      args.y = y.data();
      args.y_stride = static_cast<int64_t>(head_dim);
      args.heads = heads;
      args.head_dim = static_cast<int64_t>(head_dim);
      args.cos = cos.data();
      args.sin = sin.data();
      args.encodings = e;
      kernels().rope_half(args);
      for (size_t head = 0; head < heads; ++head) {
        const auto from = x.begin() + static_cast<std::ptrdiff_t>(head * stride);
        const auto at = y.begin() + static_cast<std::ptrdiff_t>(head * head_dim);
        const auto length = static_cast<std::ptrdiff_t>(head_dim);
        EXPECT_EQ(std::vector<uint16_t>(at, at + length),
                  expected_rope(std::vector<uint16_t>(from, from + length), cos, sin, e))
            << "head_dim " << head_dim << ", head " << head;
      }
    }
  }
}

TEST_P(RopeTest, MayWriteOverItsInput) {
  const RopeEncodings e{{0.001f, 32768}, {3e-5f, 32768},  {3e-5f, 32768},  {0.001f, 32768},
                        {0.001f, 32768}, {0.001f, 32768}, {0.0014f, 32768}};
  std::vector<uint16_t> x = random_u16(64, 1);
  const std::vector<uint16_t> cos = random_u16(64, 2);
  const std::vector<uint16_t> sin = random_u16(64, 3);
  const std::vector<uint16_t> expected = expected_rope(x, cos, sin, e);
  RopeArgs args;
  args.x = x.data();
  args.x_stride = 64;
  args.y = x.data();
  args.y_stride = 64;
  args.heads = 1;
  args.head_dim = 64;
  args.cos = cos.data();
  args.sin = sin.data();
  args.encodings = e;
  kernels().rope_half(args);
  EXPECT_EQ(x, expected);
}

/// The unfused chain for one head: cat(x1 * cos - x2 * sin, x2 * cos + x1 * sin, x3), as codes of
/// u16 or, where `to_bytes`, requantized to u8.
std::vector<int> expected_split_rope(const std::vector<uint16_t>& x,
                                     const std::vector<uint16_t>& cos,
                                     const std::vector<uint16_t>& sin, const SplitRopeEncodings& e,
                                     bool to_bytes) {
  const auto mul = [&](int a, int b, Affine eb, Affine ey) {
    const float product = reference_decode(a, e.x) * reference_decode(b, eb);
    return reference_decode(reference_encode(product, ey), ey);
  };
  const auto finish = [&](float real, Affine encoding) {
    const int code = reference_encode(real, encoding);
    return to_bytes ? reference_encode(reference_decode(code, encoding), e.bytes, 255) : code;
  };
  const size_t half = cos.size();
  std::vector<int> y;
  for (const uint16_t code : x) {
    y.push_back(to_bytes ? reference_encode(reference_decode(code, e.x), e.bytes, 255) : code);
  }
  for (size_t i = 0; i < half; ++i) {
    const int x1 = x[i];
    const int x2 = x[half + i];
    y[i] = finish(mul(x1, cos[i], e.cos, e.x1_cos) - mul(x2, sin[i], e.sin, e.x2_sin), e.low);
    y[half + i] =
        finish(mul(x2, cos[i], e.cos, e.x2_cos) + mul(x1, sin[i], e.sin, e.x1_sin), e.high);
  }
  return y;
}

TEST_P(RopeTest, SplitFormEqualsTheUnfusedChain) {
  const SplitRopeEncodings e{.x = {0.0004f, 30000},
                             .cos = {2.0f / 65535, 32768},
                             .sin = {2.1f / 65535, 32000},
                             .x1_cos = {0.00035f, 31000},
                             .x2_sin = {0.00037f, 32000},
                             .x2_cos = {0.00036f, 33000},
                             .x1_sin = {0.00038f, 34000},
                             .low = {0.0005f, 32768},
                             .high = {0.00052f, 32000},
                             .bytes = {0.11f, 128}};
  const std::pair<int, int> shapes[] = {{2, 2},   {6, 6},   {16, 16},   {32, 32},
                                        {64, 64}, {80, 80}, {128, 128}, {256, 256},
                                        {5, 2},   {16, 12}, {128, 64},  {128, 96}};
  for (const auto& [head_dim, rotating] : shapes) {
    SCOPED_TRACE(std::to_string(rotating) + " of " + std::to_string(head_dim));
    const int heads = 3;
    const int stride = head_dim + 5;
    const std::vector<uint16_t> x = random_u16(static_cast<size_t>(heads * stride), 1);
    const std::vector<uint16_t> cos = random_u16(static_cast<size_t>(rotating / 2), 2);
    const std::vector<uint16_t> sin = random_u16(static_cast<size_t>(rotating / 2), 3);
    std::vector<uint16_t> codes(static_cast<size_t>(heads * head_dim));
    std::vector<uint8_t> bytes(codes.size());
    SplitRopeArgs args;
    args.x = x.data();
    args.x_stride = stride;
    args.y = codes.data();
    args.y_stride = head_dim;
    args.heads = heads;
    args.head_dim = head_dim;
    args.rotating = rotating;
    args.cos = cos.data();
    args.sin = sin.data();
    args.encodings = e;
    kernels().rope_split(args);
    args.y = nullptr;
    args.bytes = bytes.data();
    kernels().rope_split(args);
    for (int head = 0; head < heads; ++head) {
      const auto from = x.begin() + head * stride;
      const std::vector<uint16_t> one(from, from + head_dim);
      const auto at = head * head_dim;
      EXPECT_EQ(std::vector<int>(codes.begin() + at, codes.begin() + at + head_dim),
                expected_split_rope(one, cos, sin, e, false));
      EXPECT_EQ(std::vector<int>(bytes.begin() + at, bytes.begin() + at + head_dim),
                expected_split_rope(one, cos, sin, e, true));
    }
  }
}

LATHE_ON_EVERY_ISA(RopeTest);

}  // namespace
}  // namespace lathe
