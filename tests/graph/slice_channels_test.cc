#include "graph/slice_channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"

namespace lathe {
namespace {

constexpr int64_t kChannels = 37;  // two groups of 16 and a part of a third
constexpr int64_t kDepth = 88;

/// A constant value whose channel c has the scale 1 + c.
Value constant_value(DType dtype, Shape shape, std::shared_ptr<const Constant> constant) {
  Value value;
  value.name = "q_proj.weight";
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.constant = std::move(constant);
  if (dtype == DType::f32) return value;
  value.encoding = Encoding{dtype, std::vector<float>(kChannels), 0, 0};
  std::iota(value.encoding->scale.begin(), value.encoding->scale.end(), 1.0f);
  return value;
}

std::vector<int8_t> matrix(int64_t first, int64_t count, int modulus) {
  std::vector<int8_t> codes;
  for (int64_t i = first * kDepth; i < (first + count) * kDepth; ++i) {
    codes.push_back(static_cast<int8_t>(i * 31 % modulus - modulus / 2));
  }
  return codes;
}

/// Packed 8-bit weights with their sums, as a constant holds them.
std::vector<std::byte> packed_int8(int64_t first, int64_t count) {
  std::vector<std::byte> bytes(packed_constant_bytes(count, kDepth));
  auto* packed = reinterpret_cast<int8_t*>(bytes.data());
  pack_weights(matrix(first, count, 255).data(), count, kDepth, packed);
  sum_packed_weights(packed, count, kDepth, packed_weight_sums(packed, count, kDepth));
  return bytes;
}

/// Packed 4-bit weights in blocks of 8 columns.
std::vector<std::byte> packed_int4(int64_t first, int64_t count) {
  const Int4Matrix form{count, kDepth, 8};
  std::vector<std::byte> bytes(int4_constant_bytes(form));
  const std::vector<int8_t> codes = matrix(first, count, 15);
  std::vector<uint8_t> factors;
  for (int64_t i = first * form.blocks(); i < (first + count) * form.blocks(); ++i) {
    factors.push_back(static_cast<uint8_t>(1 + i * 7 % 16));
  }
  std::byte* group = bytes.data();
  for (int64_t c = 0; c < count; c += kPackedChannels, group += int4_group_bytes(form)) {
    pack_int4_group(codes.data() + c * kDepth, factors.data() + c * form.blocks(),
                    std::min(kPackedChannels, count - c), form, group);
  }
  std::vector<int32_t> sums(static_cast<size_t>(count));
  for (int64_t i = 0; i < count * kDepth; ++i) {
    sums[static_cast<size_t>(i / kDepth)] +=
        codes[static_cast<size_t>(i)] * factors[static_cast<size_t>(i / form.block)];
  }
  std::memcpy(group, sums.data(), sums.size() * sizeof(int32_t));
  return bytes;
}

std::vector<std::byte> bytes_of(const Value& value) {
  const std::byte* begin = value.constant->bytes.get();
  return {begin, begin + value.constant->byte_count};
}

struct Range {
  int64_t first;
  int64_t count;
};
// On the borders of groups and across them.
constexpr Range kRanges[] = {{0, 16}, {16, 16}, {3, 9}, {12, 20}, {33, 4}};

TEST(SliceChannels, PackedInt8IsWhatPackingTheChannelsGives) {
  const Value whole =
      constant_value(DType::i8, {kChannels, kDepth, 1, 1},
                     bytes_constant("q.i8", packed_int8(0, kChannels), Layout::packed));
  for (const Range range : kRanges) {
    const Value part = slice_channels(whole, range.first, range.count, ".h1");
    EXPECT_EQ(part.name, "q_proj.weight.h1");
    EXPECT_EQ(part.constant->name, "q.i8.h1");
    EXPECT_EQ(part.shape, (Shape{range.count, kDepth, 1, 1}));
    EXPECT_EQ(part.encoding->scale.size(), range.count);
    EXPECT_EQ(part.encoding->scale.front(), static_cast<float>(1 + range.first));
    EXPECT_EQ(part.constant->byte_count, stored_bytes(part));
    EXPECT_EQ(bytes_of(part), packed_int8(range.first, range.count));
  }
}

TEST(SliceChannels, PackedInt4KeepsCodesAndFactors) {
  Value whole = constant_value(DType::i4, {kChannels, kDepth},
                               bytes_constant("q.i4", packed_int4(0, kChannels), Layout::packed));
  whole.encoding->block = 8;
  for (const Range range : kRanges) {
    const Value part = slice_channels(whole, range.first, range.count, ".h1");
    EXPECT_EQ(part.constant->byte_count, stored_bytes(part));
    EXPECT_EQ(bytes_of(part), packed_int4(range.first, range.count)) << range.first;
  }
}

TEST(SliceChannels, RowsOfABias) {
  std::vector<int32_t> codes(kChannels);
  std::iota(codes.begin(), codes.end(), -5);
  std::vector<std::byte> bytes(codes.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), codes.data(), bytes.size());
  const Value whole =
      constant_value(DType::i32, {kChannels}, bytes_constant("bias", std::move(bytes)));
  const Value part = slice_channels(whole, 8, 4, ".h2");
  const auto* sliced = reinterpret_cast<const int32_t*>(part.constant->bytes.get());
  EXPECT_EQ(std::vector<int32_t>(sliced, sliced + 4), (std::vector<int32_t>{3, 4, 5, 6}));
  EXPECT_EQ(part.encoding->scale, (std::vector<float>{9, 10, 11, 12}));
}

TEST(SliceChannels, FloatsAreReadFromTheSource) {
  std::vector<float> numbers(kChannels * 2);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const Value whole = constant_value(DType::f32, {kChannels, 2, 1, 1},
                                     float_constant("q_proj.weight", std::move(numbers)));
  const Value part = slice_channels(whole, 10, 2, ".h5");
  std::vector<float> sliced(4);
  part.constant->floats->read(0, 4, sliced.data());
  EXPECT_EQ(sliced, (std::vector<float>{20, 21, 22, 23}));
}

}  // namespace
}  // namespace lathe
