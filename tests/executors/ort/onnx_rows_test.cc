#include "executors/ort/onnx_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"

namespace lathe {
namespace {

std::vector<std::byte> collected(const std::function<void(const ByteSink&)>& write) {
  std::vector<std::byte> all;
  write(
      [&](std::span<const std::byte> piece) { all.insert(all.end(), piece.begin(), piece.end()); });
  return all;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// 19 channels: a whole group of 16, and a part of one.
Value weights(DType dtype, int64_t k, int32_t block) {
  Value value;
  value.name = "w";
  value.dtype = dtype;
  value.shape = {19, k, 1, 1};
  value.encoding = Encoding{dtype, std::vector<float>(19), 0, 0, block};
  for (size_t c = 0; c < 19; ++c) {
    value.encoding->scale[c] = 0.5f + 0.25f * static_cast<float>(c);
  }
  return value;
}

TEST(OnnxRows, PackedBytesBecomeRows) {
  Value value = weights(DType::i8, 6, 0);
  std::vector<int8_t> codes(19 * 6);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(i * 7 % 255 - 127);
  std::vector<std::byte> packed(packed_constant_bytes(19, 6));
  pack_weights(codes.data(), 19, 6, reinterpret_cast<int8_t*>(packed.data()));
  value.constant = bytes_constant("w", packed, Layout::packed);
  EXPECT_EQ(collected([&](const ByteSink& sink) { write_rows(value, sink); }), bytes_of(codes));
}

TEST(OnnxRows, RowsStayAsTheyAre) {
  Value value = weights(DType::i8, 2, 0);
  std::vector<int8_t> codes(19 * 2, 3);
  value.constant = bytes_constant("w", bytes_of(codes));
  EXPECT_EQ(collected([&](const ByteSink& sink) { write_rows(value, sink); }), bytes_of(codes));
}

TEST(OnnxRows, FourBitsBecomeNibblesInOrderAndFactorsScales) {
  constexpr int64_t kDepth = 32;
  Value value = weights(DType::i4, kDepth, 16);
  const Int4Matrix matrix = int4_matrix(value);
  std::vector<int8_t> codes(19 * kDepth);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(i % 15) - 7;
  std::vector<uint8_t> factors(19 * 2);
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<uint8_t>(1 + i % 16);
  std::vector<std::byte> packed(int4_constant_bytes(matrix));
  pack_int4_group(codes.data(), factors.data(), 16, matrix, packed.data());
  pack_int4_group(codes.data() + 16 * kDepth, factors.data() + 16 * 2, 3, matrix,
                  packed.data() + int4_group_bytes(matrix));
  value.constant = bytes_constant("w", packed, Layout::packed);

  std::vector<std::byte> nibbles;
  for (size_t i = 0; i < codes.size(); i += 2) {
    nibbles.push_back(static_cast<std::byte>((codes[i] & 15) | (codes[i + 1] & 15) << 4));
  }
  EXPECT_EQ(collected([&](const ByteSink& sink) { write_rows(value, sink); }), nibbles);

  std::vector<float> scales;
  for (size_t i = 0; i < factors.size(); ++i) {
    scales.push_back(value.encoding->scale[i / 2] * static_cast<float>(factors[i]));
  }
  EXPECT_EQ(collected([&](const ByteSink& sink) { write_block_scales(value, sink); }),
            bytes_of(scales));
}

}  // namespace
}  // namespace lathe
