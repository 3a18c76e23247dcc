// Every operator of the table through the evaluator, on numbers small enough to check by hand.

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "executors/reference/test_graph.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

const std::string kRow = "input %x : f32[1, 4]\n";
const std::string kTable = "input %x : f32[2, 3]\n";
const std::vector<float> kCounting{0, 1, 2, 3, 4, 5};

std::vector<float> run_unary(const std::string& node, const std::vector<float>& x) {
  return one_node(kRow, node).input("x", x).run<float>();
}

TEST(Operators, Arithmetic) {
  EXPECT_THAT(run_unary("aten.add(%x) {other=0.5}", {1, 2, 3, 4}), ElementsAre(1.5, 2.5, 3.5, 4.5));
  EXPECT_THAT(run_unary("aten.add_(%x) {other=1}", {1, 2, 3, 4}), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(run_unary("aten.mul(%x) {other=2.0}", {1, 2, 3, 4}), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(run_unary("aten.neg(%x)", {1, -2, 3, 0}), ElementsAre(-1, 2, -3, -0.0f));
  EXPECT_THAT(run_unary("aten.pow(%x) {exponent=2}", {1, -2, 3, 4}), ElementsAre(1, 4, 9, 16));
  EXPECT_THAT(run_unary("aten.rsqrt(%x)", {1, 4, 16, 0.25}), ElementsAre(1, 0.5, 0.25, 2));
  EXPECT_THAT(run_unary("aten.mean(%x) {dim=-1}", {1, 2, 3, 5}), ElementsAre(2.75));
  EXPECT_THAT(run_unary("lathe.requantize(%x)", {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(run_unary("aten.cos(%x)", {0, 0, 0, 0}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(run_unary("aten.sin(%x)", {0, 0, 0, 0}), ElementsAre(0, 0, 0, 0));
}

TEST(Operators, ArithmeticBroadcasts) {
  EXPECT_THAT(one_node("input %x : f32[2, 3]\ninput %b : f32[3]\n", "aten.add(%x, %b)")
                  .input("x", kCounting)
                  .input<float>("b", {10, 20, 30})
                  .run<float>(),
              ElementsAre(10, 21, 32, 13, 24, 35));
  EXPECT_THAT(one_node("input %x : f32[2, 3]\ninput %b : f32[2, 1]\n", "aten.mul(%x, %b)")
                  .input("x", kCounting)
                  .input<float>("b", {2, 3})
                  .run<float>(),
              ElementsAre(0, 2, 4, 9, 12, 15));
}

// torch.nn.functional.silu of -2, 0, 1 and 4, to eight digits.
TEST(Operators, Silu) {
  EXPECT_THAT(run_unary("aten.silu(%x)", {-2, 0, 1, 4}),
              ElementsAre(FloatEq(-0.23840584f), 0.0f, FloatEq(0.73105858f), FloatEq(3.9280552f)));
}

// e^0 : e^1 : e^2 : e^3 over their sum.
TEST(Operators, Softmax) {
  EXPECT_THAT(run_unary("aten.softmax(%x) {dim=-1}", {0, 1, 2, 3}),
              ElementsAre(FloatEq(0.032058604f), FloatEq(0.087144319f), FloatEq(0.23688282f),
                          FloatEq(0.64391426f)));
}

// mean(x^2) = 6.25, so without eps x is scaled by 0.4.
TEST(Operators, RmsNorm) {
  EXPECT_THAT(one_node(kRow + "const %w : f32[4]\n", "lathe.rms_norm(%x, %w) {eps=0.0}")
                  .constant("w", {1, 2, 1, 1})
                  .input<float>("x", {0, 0, 3, 4})
                  .run<float>(),
              ElementsAre(0, 0, FloatEq(1.2f), FloatEq(1.6f)));
}

TEST(Operators, ComparisonAndWhere) {
  TestGraph graph(
      "graph decode ar=1 cl=8\n"
      "input %a : i64[3]\n"
      "input %b : i64[2, 1]\n"
      "input %x : f32[2, 3]\n"
      "%le = aten.le(%a, %b)\n"
      "%y = aten.where(%le, %x) {other=-1.0}\n"
      "output y = %y\n");
  graph.input<int64_t>("a", {0, 1, 2}).input<int64_t>("b", {0, 1}).input("x", kCounting);
  EXPECT_THAT(graph.run<float>(), ElementsAre(0, -1, -1, 3, 4, -1));
}

TEST(Operators, Products) {
  EXPECT_THAT(
      one_node(kTable + "const %w : f32[2, 3]\nconst %b : f32[2]\n", "aten.linear(%x, %w, %b)")
          .constant("w", {1, 2, 3, -1, 0, 1})
          .constant("b", {0.5, -0.5})
          .input("x", kCounting)
          .run<float>(),
      ElementsAre(8.5, 1.5, 26.5, 1.5));
  EXPECT_THAT(one_node("input %a : f32[2, 1, 2]\ninput %b : f32[2, 2, 2]\n", "aten.matmul(%a, %b)")
                  .input<float>("a", {1, 2, 3, 4})
                  .input<float>("b", {1, 0, 0, 1, 1, 2, 3, 4})
                  .run<float>(),
              ElementsAre(1, 2, 15, 22));
}

TEST(Operators, MovementThatRenames) {
  for (const char* node :
       {"aten.alias(%x)", "aten.dropout(%x)", "aten.reshape(%x) {sizes=[3, -1]}",
        "aten.view(%x) {sizes=[6]}", "aten.unsqueeze(%x) {dim=1}", "aten.to(%x) {dtype=f32}"}) {
    EXPECT_EQ(one_node(kTable, node).input("x", kCounting).run<float>(), kCounting) << node;
  }
}

TEST(Operators, MovementThatCopies) {
  const auto run = [](const std::string& node) {
    return one_node(kTable, node).input("x", kCounting).run<float>();
  };
  EXPECT_THAT(run("aten.transpose(%x) {dim0=0, dim1=1}"), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(run("aten.slice(%x) {dim=-1, start=1, end=9223372036854775807}"),
              ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(run("aten.slice(%x) {dim=0, start=0, end=2}"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(run("aten.select(%x) {dim=0, index=1}"), ElementsAre(3, 4, 5));
  EXPECT_THAT(run("aten.cat(%x, %x) {dim=1}"), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_THAT(run("aten.cat(%x, %x) {dim=0}"), ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(run("aten.expand(%x) {sizes=[2, -1, -1]}"),
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
}

TEST(Operators, CopyGivesTheSource) {
  EXPECT_THAT(one_node("input %a : f32[2]\ninput %b : f32[2]\n", "aten.copy_(%a, %b)")
                  .input<float>("a", {1, 2})
                  .input<float>("b", {3, 4})
                  .run<float>(),
              ElementsAre(3, 4));
}

TEST(Operators, IndexCopyReplacesRows) {
  EXPECT_THAT(one_node("input %a : f32[1, 3, 2]\ninput %i : i64[1]\ninput %b : f32[1, 1, 2]\n",
                       "aten.index_copy_(%a, %i, %b) {dim=1}")
                  .input("a", kCounting)
                  .input<int64_t>("i", {1})
                  .input<float>("b", {8, 9})
                  .run<float>(),
              ElementsAre(0, 1, 8, 9, 4, 5));
}

TEST(Operators, EmbeddingTakesRowsAndStaysInsideTheTable) {
  TestGraph graph =
      one_node("const %t : f32[3, 2]\ninput %i : i32[1, 4]\n", "aten.embedding(%t, %i)");
  graph.constant("t", kCounting).input<int32_t>("i", {2, 0, -7, 99});
  EXPECT_THAT(graph.run<float>(), ElementsAre(4, 5, 0, 1, 0, 1, 4, 5));
}

TEST(Operators, Making) {
  EXPECT_THAT(one_node("", "aten.arange() {end=3}").run<int64_t>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(one_node("", "aten.zeros() {sizes=[2]}").run<float>(), ElementsAre(0, 0));
}

TEST(Operators, ToChangesTheType) {
  EXPECT_THAT(one_node("input %x : i64[3]\n", "aten.to(%x) {dtype=f32}")
                  .input<int64_t>("x", {-1, 0, 7})
                  .run<float>(),
              ElementsAre(-1, 0, 7));
}

}  // namespace
}  // namespace lathe
