#include "graph/packed_int4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lathe {
namespace {

/// Codes and factors of a matrix, neither of them all alike in any row, line or block.
struct Weights {
  Int4Matrix matrix;
  std::vector<int8_t> codes;      // [channels, k]
  std::vector<uint8_t> factors;   // [channels, blocks]
  std::vector<int8_t> effective;  // [channels, k], code * factor

  explicit Weights(const Int4Matrix& form) : matrix(form) {
    for (int64_t i = 0; i < form.channels * form.blocks(); ++i) {
      factors.push_back(static_cast<uint8_t>(1 + i * 7 % 16));
    }
    for (int64_t c = 0; c < form.channels; ++c) {
      for (int64_t i = 0; i < form.k; ++i) {
        const auto code = static_cast<int8_t>((c * 5 + i * 11) % 15 - 7);
        const int factor =
            form.block == 0 ? 1 : factors[static_cast<size_t>(c * form.blocks() + i / form.block)];
        codes.push_back(code);
        effective.push_back(static_cast<int8_t>(code * factor));
      }
    }
  }

  std::vector<std::byte> constant() const {
    std::vector<std::byte> bytes(int4_constant_bytes(matrix));
    for (int64_t c = 0; c < matrix.channels; c += 16) {
      pack_int4_group(codes.data() + c * matrix.k, factors.data() + c * matrix.blocks(),
                      std::min<int64_t>(16, matrix.channels - c), matrix,
                      bytes.data() + static_cast<size_t>(c / 16) * int4_group_bytes(matrix));
    }
    for (int64_t c = 0; c < matrix.channels; ++c) {
      int32_t sum = 0;
      for (int64_t i = 0; i < matrix.k; ++i)
        sum += effective[static_cast<size_t>(c * matrix.k + i)];
      int4_sums(bytes.data(), matrix)[c] = sum;
    }
    return bytes;
  }
};

TEST(PackedInt4, PutsFourColumnsIntoLowNibblesAndTheNextFourIntoHighOnes) {
  // One channel of ten columns: a whole line of eight, and two columns of a second.
  const std::vector<int8_t> codes{1, 2, 3, 4, -1, -2, -3, -7, 7, -6};
  const Int4Matrix matrix{1, 10, 0};
  std::vector<std::byte> group(int4_group_bytes(matrix));
  ASSERT_EQ(group.size(), 128u);
  pack_int4_group(codes.data(), nullptr, 1, matrix, group.data());
  std::vector<std::byte> expected(128);
  const auto put = [&](size_t at, int bytes) { expected[at] = static_cast<std::byte>(bytes); };
  put(0, 0xF1);
  put(1, 0xE2);
  put(2, 0xD3);
  put(3, 0x94);
  put(64, 0x07);
  put(65, 0x0A);
  EXPECT_EQ(group, expected);
}

TEST(PackedInt4, PutsFactorsLessOneBeforeTheCodes) {
  // 17 channels of 48 columns in blocks of 16: 3 * 8 bytes of factors, padded, 6 lines of codes.
  const Int4Matrix matrix{17, 48, 16};
  ASSERT_EQ(int4_group_bytes(matrix), 6u * 64 + 64);
  EXPECT_EQ(int4_constant_bytes(matrix), 2 * (6u * 64 + 64) + 17 * 4);
  const std::vector<int8_t> codes(2 * 48);
  const std::vector<uint8_t> factors{16, 1, 9, 2, 3, 4};
  std::vector<std::byte> group(int4_group_bytes(matrix));
  pack_int4_group(codes.data(), factors.data(), 2, matrix, group.data());
  EXPECT_EQ(group[0], std::byte{0x1F});
  EXPECT_EQ(group[8], std::byte{0x20});
  EXPECT_EQ(group[16], std::byte{0x38});
}

TEST(PackedInt4, PutsALineOfFactorsBeforeEveryEightBlocks) {
  // 18 blocks of 12 columns: 8 of them are 12 lines of codes, the last two 3.
  const Int4Matrix matrix{1, 18 * 12, 12};
  std::vector<int8_t> codes(18 * 12);
  std::vector<uint8_t> factors(18, 1);
  for (const size_t block : {0, 8, 16}) {
    codes[block * 12] = 5;
    factors[block] = 16;
  }
  std::vector<std::byte> group(int4_group_bytes(matrix));
  ASSERT_EQ(group.size(), (1u + 12 + 1 + 12 + 1 + 3) * 64);
  pack_int4_group(codes.data(), factors.data(), 1, matrix, group.data());
  std::vector<std::byte> expected(group.size());
  for (const size_t line : {0, 13, 26}) {
    expected[line * 64] = std::byte{0x0F};
    expected[(line + 1) * 64] = std::byte{0x05};
  }
  EXPECT_EQ(group, expected);
}

class PackedInt4Matrices : public testing::TestWithParam<Int4Matrix> {};

TEST_P(PackedInt4Matrices, UnpackToCodeTimesFactor) {
  const Weights weights(GetParam());
  const Int4Matrix& matrix = weights.matrix;
  const std::vector<std::byte> constant = weights.constant();
  std::vector<int8_t> unpacked(weights.effective.size());
  for (int64_t c = 0; c < matrix.channels; c += 16) {
    unpack_int4_group(constant.data() + static_cast<size_t>(c / 16) * int4_group_bytes(matrix),
                      std::min<int64_t>(16, matrix.channels - c), matrix,
                      unpacked.data() + c * matrix.k);
  }
  EXPECT_EQ(unpacked, weights.effective);
}

TEST_P(PackedInt4Matrices, UnpackToCodesAndFactors) {
  const Weights weights(GetParam());
  const Int4Matrix& matrix = weights.matrix;
  const std::vector<std::byte> constant = weights.constant();
  std::vector<int8_t> codes(weights.codes.size());
  std::vector<uint8_t> factors(weights.factors.size());
  for (int64_t c = 0; c < matrix.channels; c += 16) {
    unpack_int4_group(constant.data() + static_cast<size_t>(c / 16) * int4_group_bytes(matrix),
                      std::min<int64_t>(16, matrix.channels - c), matrix,
                      codes.data() + c * matrix.k, factors.data() + c * matrix.blocks());
  }
  EXPECT_EQ(codes, weights.codes);
  EXPECT_EQ(factors, weights.factors);
}

INSTANTIATE_TEST_SUITE_P(Forms, PackedInt4Matrices,
                         testing::Values(Int4Matrix{1, 1, 0}, Int4Matrix{16, 8, 0},
                                         Int4Matrix{37, 13, 0}, Int4Matrix{16, 16, 16},
                                         Int4Matrix{35, 48, 16}, Int4Matrix{17, 96, 32},
                                         Int4Matrix{50, 128, 64}, Int4Matrix{18, 36, 4},
                                         Int4Matrix{20, 340, 20}, Int4Matrix{16, 576, 32}));

}  // namespace
}  // namespace lathe
