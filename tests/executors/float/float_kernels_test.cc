// Every fast operator against the reference, on random numbers and on shapes that end inside a
// tile, a block or a vector.

#include "executors/float/float_kernels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "executors/float/random_numbers.h"
#include "executors/reference/test_graph.h"

namespace lathe {
namespace {

/// Largest difference, relative to the largest number of the reference.
double difference(const std::vector<float>& reference, const std::vector<float>& fast) {
  EXPECT_EQ(reference.size(), fast.size());
  double largest = 0.0;
  double worst = 0.0;
  for (size_t i = 0; i < reference.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(reference[i])));
    worst = std::max(worst, std::abs(static_cast<double>(reference[i]) - fast[i]));
  }
  return largest == 0.0 ? worst : worst / largest;
}

void expect_close(TestGraph& graph) {
  const auto reference = graph.run<float>();
  const auto fast = graph.run<float>(std::make_shared<FloatKernels>(2));
  EXPECT_LE(difference(reference, fast), 1e-5);
}

void expect_equal(TestGraph& graph) {
  EXPECT_EQ(graph.run<float>(), graph.run<float>(std::make_shared<FloatKernels>(2)));
}

std::string type(const Shape& shape) { return "f32" + to_string(shape); }

std::vector<float> random_tensor(const Shape& shape, uint32_t seed) {
  return random_numbers(static_cast<size_t>(elements(shape)), seed);
}

struct ProductShape {
  int64_t m, k, n;
};

std::string dimensions(const ::testing::TestParamInfo<ProductShape>& test) {
  return fmt::format("{}x{}x{}", test.param.m, test.param.k, test.param.n);
}

class ProductTest : public ::testing::TestWithParam<ProductShape> {};

TEST_P(ProductTest, LinearEqualsTheReference) {
  const auto [m, k, n] = GetParam();
  TestGraph graph =
      one_node("input %x : " + type({1, m, k}) + "\nconst %w : " + type({n, k}) + "\n",
               "aten.linear(%x, %w)");
  graph.input("x", random_tensor({m, k}, 1)).constant("w", random_tensor({n, k}, 2));
  expect_close(graph);
}

TEST_P(ProductTest, MatmulEqualsTheReference) {
  const auto [m, k, n] = GetParam();
  TestGraph graph =
      one_node("input %a : " + type({2, m, k}) + "\ninput %b : " + type({2, k, n}) + "\n",
               "aten.matmul(%a, %b)");
  graph.input("a", random_tensor({2, m, k}, 1)).input("b", random_tensor({2, k, n}, 2));
  expect_close(graph);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ProductTest,
                         ::testing::Values(ProductShape{1, 1, 1}, ProductShape{1, 33, 300},
                                           ProductShape{3, 64, 17}, ProductShape{64, 100, 129},
                                           ProductShape{65, 100, 513}, ProductShape{257, 40, 530},
                                           ProductShape{7, 5000, 700}),
                         dimensions);

TEST(FloatLinear, WeightsOfManyBlocksAreReadPieceByPiece) {
  // 1,100 channels of 2,100 are read in three blocks; the default limit of kept constants is
  // passed.
  TestGraph graph =
      one_node("input %x : f32[2, 2100]\nconst %w : f32[1100, 2100]\n", "aten.linear(%x, %w)");
  graph.input("x", random_tensor({2, 2100}, 1)).constant("w", random_tensor({1100, 2100}, 2));
  expect_close(graph);
}

TEST(FloatLinear, BiasIsAdded) {
  TestGraph graph = one_node("input %x : f32[5, 30]\nconst %w : f32[40, 30]\nconst %b : f32[40]\n",
                             "aten.linear(%x, %w, %b)");
  graph.input("x", random_tensor({5, 30}, 1));
  graph.constant("w", random_tensor({40, 30}, 2)).constant("b", random_tensor({40}, 3));
  expect_close(graph);
}

TEST(FloatElementwise, EveryFormOfBroadcastEqualsTheReference) {
  const Shape full{2, 3, 40, 1000};
  for (const Shape& other : {Shape{2, 3, 40, 1000}, Shape{1, 1, 40, 1000}, Shape{1000},
                             Shape{2, 1, 1, 1000}, Shape{3, 40, 1}, Shape{1}, Shape{1, 3, 1, 1}}) {
    for (const char* node :
         {"aten.add(%x, %b)", "aten.mul(%b, %x)", "aten.sub(%x, %b)", "aten.sub(%b, %x)"}) {
      TestGraph graph =
          one_node("input %x : " + type(full) + "\ninput %b : " + type(other) + "\n", node);
      graph.input("x", random_tensor(full, 1)).input("b", random_tensor(other, 2));
      expect_equal(graph);
    }
  }
}

TEST(FloatElementwise, LongRowsAreCut) {
  TestGraph graph =
      one_node("input %x : f32[3, 50000]\ninput %b : f32[1, 50000]\n", "aten.add(%x, %b)");
  graph.input("x", random_tensor({3, 50000}, 1)).input("b", random_tensor({50000}, 2));
  expect_equal(graph);
}

TEST(FloatElementwise, OneOperand) {
  for (const char* node :
       {"aten.add(%x) {other=0.3}", "aten.add_(%x) {other=0.3}", "aten.mul(%x) {other=-1.7}",
        "aten.sub(%x) {other=0.3}", "aten.neg(%x)"}) {
    TestGraph graph = one_node("input %x : f32[7, 3001]\n", node);
    graph.input("x", random_tensor({7, 3001}, 1));
    expect_equal(graph);
  }
}

TEST(FloatElementwise, SiluAndSigmoidOfSmallAndLargeNumbers) {
  for (const char* node : {"aten.silu(%x)", "aten.sigmoid(%x)"}) {
    TestGraph graph = one_node("input %x : f32[5, 333]\n", node);
    for (const float magnitude : {0.01f, 3.0f, 200.0f}) {
      std::vector<float> x = random_tensor({5, 333}, 1);
      for (float& v : x) v *= magnitude;
      graph.input("x", x);
      expect_close(graph);
    }
  }
}

TEST(FloatElementwise, IntegersGoToTheReference) {
  TestGraph graph = one_node("input %x : i64[3]\n", "aten.add(%x) {other=2}");
  graph.input<int64_t>("x", {1, 2, 3});
  EXPECT_THAT(graph.run<int64_t>(std::make_shared<FloatKernels>(2)),
              ::testing::ElementsAre(3, 4, 5));
}

TEST(FloatReductions, SoftmaxOfMaskedRows) {
  TestGraph graph = one_node("input %x : f32[9, 200]\n", "aten.softmax(%x) {dim=-1}");
  std::vector<float> x = random_tensor({9, 200}, 1);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = x[i] * 8.0f - (i % 200 > 20 + i / 200 ? 255.0f : 0.0f);
  graph.input("x", x);
  expect_close(graph);
  EXPECT_EQ(graph.run<float>(std::make_shared<FloatKernels>(1))[199], 0.0f);
}

TEST(FloatReductions, MaskedSoftmaxUnderOneMaskOrOneForEachHead) {
  for (const int64_t heads : {1, 3}) {
    TestGraph graph =
        one_node("input %x : f32[1, 3, 9, 200]\ninput %mask : " + type({1, heads, 9, 200}) + "\n",
                 "lathe.masked_softmax(%x, %mask) {dim=-1, below=20.0}");
    std::vector<float> mask(static_cast<size_t>(heads * 9 * 200));
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 7 > 2 ? -255.0f : 0.0f;
    graph.input("x", random_tensor({1, 3, 9, 200}, 1)).input("mask", mask);
    expect_close(graph);
  }
}

TEST(FloatReductions, RowsOfEveryWidth) {
  for (const int64_t width : {1, 15, 16, 17, 1000}) {
    TestGraph softmax =
        one_node("input %x : " + type({4, width}) + "\n", "aten.softmax(%x) {dim=-1}");
    softmax.input("x", random_tensor({4, width}, 1));
    expect_close(softmax);
    TestGraph norm =
        one_node("input %x : " + type({4, width}) + "\nconst %w : " + type({width}) + "\n",
                 "lathe.rms_norm(%x, %w) {eps=0.00001}");
    norm.input("x", random_tensor({4, width}, 1)).constant("w", random_tensor({width}, 2));
    expect_close(norm);
  }
}

TEST(FloatReductions, HadamardEqualsTheReferenceBitForBit) {
  for (const int64_t width : {1, 2, 16, 64, 1024}) {
    TestGraph graph = one_node("input %x : " + type({3, 37, width}) + "\n", "lathe.hadamard(%x)");
    graph.input("x", random_tensor({3, 37, width}, 1));
    expect_equal(graph);
  }
}

TEST(FloatMovement, EqualsTheReference) {
  const Shape shape{2, 3, 70, 64};
  for (const char* node :
       {"aten.transpose(%x) {dim0=1, dim1=2}", "aten.transpose(%x) {dim0=-1, dim1=-2}",
        "aten.transpose(%x) {dim0=0, dim1=3}", "aten.slice(%x) {dim=-1, start=32, end=64}",
        "aten.slice(%x) {dim=2, start=3, end=5}", "aten.permute(%x) {dims=[0, 2, 3, 1]}",
        "aten.permute(%x) {dims=[3, 1, 0, 2]}", "aten.select(%x) {dim=1, index=2}",
        "aten.select(%x) {dim=-1, index=63}", "aten.cat(%x, %x, %x) {dim=-1}",
        "aten.cat(%x, %x) {dim=0}", "aten.expand(%x) {sizes=[3, 2, 3, -1, 64]}"}) {
    TestGraph graph = one_node("input %x : " + type(shape) + "\n", node);
    graph.input("x", random_tensor(shape, 1));
    SCOPED_TRACE(node);
    expect_equal(graph);
  }
}

TEST(FloatMovement, ExpandRepeatsHeads) {
  TestGraph graph =
      one_node("input %x : f32[1, 3, 1, 40, 16]\n", "aten.expand(%x) {sizes=[1, 3, 3, 40, 16]}");
  graph.input("x", random_tensor({3, 40, 16}, 1));
  expect_equal(graph);
}

TEST(FloatMovement, MovesCodesToo) {
  TestGraph graph = one_node("input %x : u8[2, 2]<0.5, 9>\n",
                             "aten.transpose(%x) {dim0=0, dim1=1} : u8[2, 2]<0.5, 9>");
  EXPECT_THAT(
      graph.input<uint8_t>("x", {1, 2, 3, 4}).run<uint8_t>(std::make_shared<FloatKernels>(2)),
      ::testing::ElementsAre(1, 3, 2, 4));
}

TEST(FloatKernels, IntegerGraphsAreTheReferences) {
  TestGraph graph = one_node("input %x : u16[1, 3]<0.5, 100>\nconst %w : i8[2, 3]<per channel 0>\n",
                             "aten.linear(%x, %w) : u16[1, 2]<0.125, 50>");
  graph.codes<int8_t>("w", {1, 2, 3, -5, 0, 1}).input<uint16_t>("x", {101, 98, 103});
  EXPECT_EQ(graph.run<uint16_t>(), graph.run<uint16_t>(std::make_shared<FloatKernels>(2)));
}

}  // namespace
}  // namespace lathe
