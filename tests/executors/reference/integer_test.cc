// What operators do to codes, with expected codes worked out by hand from docs/numerics.md.

#include "executors/reference/integer.h"

#include <gmock/gmock.h>

#include <vector>

#include "executors/reference/test_graph.h"
#include "graph/packed_int4.h"
#include "graph/packed_weights.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;

TEST(IntegerLinear, RescalesTheExactSum) {
  // x - 100 = {1, -2, 3}; sums {1*1 - 2*2 + 3*3, -5*1 - 0 + 1*3} = {6, -2}.
  // Multipliers 0.5 * {0.25, 1} / 0.125 = {1, 4}: 50 + {6, -8}.
  TestGraph graph = one_node("input %x : u16[1, 3]<0.5, 100>\nconst %w : i8[2, 3]<per channel 0>\n",
                             "aten.linear(%x, %w) : u16[1, 2]<0.125, 50>");
  graph.codes<int8_t>("w", {1, 2, 3, -5, 0, 1}).scales("w", {0.25f, 1.0f});
  graph.input<uint16_t>("x", {101, 98, 103});
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(56, 42));
}

TEST(IntegerLinear, BiasJoinsTheSum) {
  TestGraph graph = one_node(
      "input %x : u16[1, 1]<1.0, 0>\nconst %w : i8[2, 1]<per channel 0>\nconst %b : i32[2]\n",
      "aten.linear(%x, %w, %b) : u8[1, 2]<2.0, 10>");
  graph.codes<int8_t>("w", {1, 1}).codes<int32_t>("b", {3, -7});
  graph.input<uint16_t>("x", {2});
  // (2 + 3) / 2 and (2 - 7) / 2 are ties: to even.
  EXPECT_THAT(graph.run<uint8_t>(), ElementsAre(12, 8));
}

// 65535 * 127 * 2000 = 16,645,890,000 takes 34 bits. A sum in 32 bits, or in float32, is another
// number.
TEST(IntegerLinear, SumsPassThirtyOneBits) {
  constexpr int64_t kWidth = 2000;
  TestGraph graph =
      one_node("input %x : u16[1, 2000]<1.0, 0>\nconst %w : i8[3, 2000]<per channel 0>\n",
               "aten.linear(%x, %w) : u16[1, 3]<1000000.0, 20000>");
  std::vector<int8_t> weights(3 * kWidth, 127);
  std::fill(weights.begin() + kWidth, weights.begin() + 2 * kWidth, int8_t{-127});
  // The third channel cancels but for its last weight: 65535 * 254 are 17 steps.
  for (int64_t k = 0; k < kWidth; ++k)
    weights[static_cast<size_t>(2 * kWidth + k)] = k % 2 ? -127 : 127;
  weights.back() = 127;
  graph.codes("w", weights);
  graph.input("x", std::vector<uint16_t>(kWidth, 65535));
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(20000 + 16646, 20000 - 16646, 20000 + 17));
}

TEST(IntegerLinear, OneUnitOfALongSumDecidesARounding) {
  TestGraph graph =
      one_node("input %x : u16[1, 260]<1.0, 0>\nconst %w : i8[1, 260]<per channel 0>\n",
               "aten.linear(%x, %w) : u16[1, 1]<1024.0, 0>");
  std::vector<uint16_t> x(260, 0);
  std::vector<int8_t> w(260, 1);
  // 64 * 65535 + 576 = 4,194,816 = 4096.5 * 1024: a tie, to 4096; one more gives 4097.
  std::fill_n(x.begin(), 64, uint16_t{65535});
  x[64] = 576;
  EXPECT_THAT(TestGraph(graph).codes("w", w).input("x", x).run<uint16_t>(), ElementsAre(4096));
  x[65] = 1;
  EXPECT_THAT(TestGraph(graph).codes("w", w).input("x", x).run<uint16_t>(), ElementsAre(4097));
}

TEST(IntegerLinear, PackedWeightsGiveTheSame) {
  // Neither channels nor width fill their groups of 16 and 4.
  constexpr int64_t kChannels = 21;
  constexpr int64_t kWidth = 7;
  TestGraph graph = one_node("input %x : u8[2, 7]<0.1, 128>\nconst %w : i8[21, 7]<per channel 0>\n",
                             "aten.linear(%x, %w) : u16[2, 21]<0.01, 30000>");
  std::vector<int8_t> weights(kChannels * kWidth);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127);
  }
  std::vector<uint8_t> x(2 * kWidth);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 71);
  graph.input("x", x);

  std::vector<int8_t> packed(packed_constant_bytes(kChannels, kWidth));
  pack_weights(weights.data(), kChannels, kWidth, packed.data());
  const auto from_rows = TestGraph(graph).codes("w", weights).run<uint16_t>();
  const auto from_packed = TestGraph(graph).codes("w", packed, Layout::packed).run<uint16_t>();
  EXPECT_EQ(from_rows, from_packed);
}

TEST(IntegerLinear, BlocksOfFourBitWeightsCountWithTheirFactor) {
  // Columns 0 to 15 count 3 times, 16 to 31 once: 3 * (7 * 1 - 2 * 2) + 5 * 4 = 29.
  TestGraph graph = one_node(
      "input %x : u16[1, 32]<1.0, 100>\nconst %w : i4[1, 32]<per channel 0, blocks of 16>\n",
      "aten.linear(%x, %w) : u16[1, 1]<0.5, 50>");
  const Int4Matrix matrix{1, 32, 16};
  std::vector<int8_t> codes(32, 0);
  codes[0] = 7;
  codes[15] = -2;
  codes[16] = 5;
  const std::vector<uint8_t> factors{3, 1};
  std::vector<std::byte> constant(int4_constant_bytes(matrix));
  pack_int4_group(codes.data(), factors.data(), 1, matrix, constant.data());
  std::vector<uint16_t> x(32, 100);
  x[0] = 101;
  x[15] = 102;
  x[16] = 104;
  graph.codes("w", constant, Layout::packed).scales("w", {0.25f}).input("x", x);
  // 29 * 0.25 / 0.5 = 14.5: a tie, to even.
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(64));
}

TEST(IntegerLinear, SixteenBitWeightsSumExactly) {
  // 65535 * 32767 * 2000 takes 42 bits; the last weight cancels all but one of them.
  constexpr size_t kWidth = 2000;
  TestGraph graph =
      one_node("input %x : u16[1, 2000]<1.0, 0>\nconst %w : i16[1, 2000]<per channel 0>\n",
               "aten.linear(%x, %w) : u16[1, 1]<0.5, 10>");
  std::vector<int16_t> weights(kWidth);
  for (size_t i = 0; i < kWidth; ++i) weights[i] = i % 2 == 0 ? 32767 : -32767;
  std::vector<uint16_t> x(kWidth, 65535);
  weights.back() = 3;
  weights.front() = -4;
  graph.codes("w", weights).input("x", x);
  // Pairs cancel from the second column to the last but one; -65535 * 1 is left: below all codes.
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(0));
  x.back() = 0;
  x.front() = 0;
  x[1] = 65534;
  EXPECT_THAT(graph.input("x", x).run<uint16_t>(), ElementsAre(65535));
  x[1] = 65535;
  x[0] = 1;
  weights[0] = 5;
  EXPECT_THAT(graph.codes("w", weights).input("x", x).run<uint16_t>(), ElementsAre(20));
}

TEST(IntegerMatmul, BothZeroPointsAreTaken) {
  // (a - 10) = {1, -1}, (b - 128) = {{2, -3}, {4, 5}}: {-2, -8} * 0.5 * 1 / 0.25.
  TestGraph graph = one_node("input %a : u16[1, 2]<0.5, 10>\ninput %b : u8[2, 2]<1.0, 128>\n",
                             "aten.matmul(%a, %b) : u16[1, 2]<0.25, 100>");
  graph.input<uint16_t>("a", {11, 9}).input<uint8_t>("b", {130, 125, 132, 133});
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(96, 84));
}

TEST(IntegerMatmul, SumsPassThirtyOneBits) {
  // 65535 * 127 * 2000 again, now of two activations.
  TestGraph graph = one_node("input %a : u16[1, 2000]<1.0, 0>\ninput %b : u8[2000, 1]<1.0, 128>\n",
                             "aten.matmul(%a, %b) : u16[1, 1]<1000000.0, 0>");
  graph.input("a", std::vector<uint16_t>(2000, 65535)).input("b", std::vector<uint8_t>(2000, 255));
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(16646));
}

TEST(IntegerArithmetic, WorksOnRealValuesAndRoundsOnce) {
  const std::string head = "input %a : u16[1, 3]<0.5, 10>\ninput %b : u8[1, 3]<0.25, 128>\n";
  const auto run = [&](const std::string& node) {
    return one_node(head, node)
        .input<uint16_t>("a", {12, 8, 65535})
        .input<uint8_t>("b", {132, 120, 255})
        .run<uint16_t>();
  };
  // a = {1, -1, 32762.5}, b = {1, -2, 31.75}
  EXPECT_THAT(run("aten.add(%a, %b) : u16[1, 3]<0.5, 100>"), ElementsAre(104, 94, 65535));
  EXPECT_THAT(run("aten.mul(%a, %b) : u16[1, 3]<0.5, 100>"), ElementsAre(102, 104, 65535));
  EXPECT_THAT(run("aten.mul(%a) {other=0.125} : u16[1, 3]<0.125, 50>"), ElementsAre(51, 49, 32812));
}

TEST(IntegerArithmetic, SoftmaxGivesFractionsOf65536) {
  TestGraph graph = one_node("input %x : u16[1, 4]<1.0, 100>\n",
                             "aten.softmax(%x) {dim=-1} : u16[1, 4]<0.0000152587890625, 0>");
  graph.input<uint16_t>("x", {100, 100, 100, 0});
  // A third of 65536 is 21845.33; e^-100 is no part of 65536.
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(21845, 21845, 21845, 0));
  // All of it is 65536, one more than there are codes.
  EXPECT_THAT(graph.input<uint16_t>("x", {300, 100, 100, 0}).run<uint16_t>(),
              ElementsAre(65535, 0, 0, 0));
}

TEST(IntegerArithmetic, MaskedSoftmaxAttendsWhereTheMaskIsZero) {
  TestGraph graph =
      one_node("input %x : u16[1, 4]<1.0, 100>\ninput %m : u16[1, 4]<0.0038910506, 65535>\n",
               "lathe.masked_softmax(%x, %m) {dim=-1, below=20.0} : u16[1, 4]"
               "<0.0000152587890625, 0>");
  graph.input<uint16_t>("x", {100, 100, 400, 100}).input<uint16_t>("m", {65535, 65535, 0, 65535});
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(21845, 21845, 0, 21845));
}

TEST(IntegerArithmetic, RmsNormWeightIsAffine) {
  TestGraph graph = one_node("input %x : u16[1, 4]<1.0, 10>\nconst %w : u16[4]<0.5, 2>\n",
                             "lathe.rms_norm(%x, %w) {eps=0.0} : u16[1, 4]<0.01, 1000>");
  // x = {0, 0, 3, 4} and w = {1, 1, 1, -1}: {0, 0, 1.2, -1.6}
  graph.codes<uint16_t>("w", {4, 4, 4, 0}).input<uint16_t>("x", {10, 10, 13, 14});
  EXPECT_THAT(graph.run<uint16_t>(), ElementsAre(1000, 1000, 1120, 840));
}

TEST(IntegerArithmetic, RequantizeChangesTheEncoding) {
  TestGraph narrow =
      one_node("input %x : u16[1, 4]<0.5, 100>\n", "lathe.requantize(%x) : u8[1, 4]<1.0, 128>");
  // {0.5, 1, 1.5, 1000} in whole steps
  EXPECT_THAT(narrow.input<uint16_t>("x", {101, 102, 103, 2100}).run<uint8_t>(),
              ElementsAre(128, 129, 130, 255));
  TestGraph wide =
      one_node("input %x : u8[1, 2]<1.0, 128>\n", "lathe.requantize(%x) : u16[1, 2]<0.25, 1000>");
  EXPECT_THAT(wide.input<uint8_t>("x", {0, 255}).run<uint16_t>(), ElementsAre(488, 1508));
}

TEST(IntegerMovement, MovesCodesAsTheyAre) {
  TestGraph transpose = one_node("input %x : u16[2, 2]<0.5, 9>\n",
                                 "aten.transpose(%x) {dim0=0, dim1=1} : u16[2, 2]<0.5, 9>");
  EXPECT_THAT(transpose.input<uint16_t>("x", {1, 2, 3, 65535}).run<uint16_t>(),
              ElementsAre(1, 3, 2, 65535));
  TestGraph embedding = one_node("const %t : u16[2, 2]<0.5, 9>\ninput %i : i32[1, 1]\n",
                                 "aten.embedding(%t, %i) : u16[1, 1, 2]<0.5, 9>");
  EXPECT_THAT(embedding.codes<uint16_t>("t", {1, 2, 3, 4}).input<int32_t>("i", {1}).run<uint16_t>(),
              ElementsAre(3, 4));
  TestGraph cat =
      one_node("input %x : u8[1, 2]<0.5, 9>\n", "aten.cat(%x, %x) {dim=1} : u8[1, 4]<0.5, 9>");
  EXPECT_THAT(cat.input<uint8_t>("x", {7, 8}).run<uint8_t>(), ElementsAre(7, 8, 7, 8));
}

TEST(IntegerMixed, FloatMayMeetCodes) {
  TestGraph graph = one_node("input %x : u8[1, 2]<0.5, 0>\ninput %b : f32[1, 2]\n",
                             "aten.add(%x, %b) : f32[1, 2]");
  graph.input<uint8_t>("x", {1, 2}).input<float>("b", {10, 20});
  EXPECT_THAT(graph.run<float>(), ElementsAre(10.5, 21));
}

}  // namespace
}  // namespace lathe
