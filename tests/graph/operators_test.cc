#include "graph/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "graph/text.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;

/// Evaluates the one node of a graph whose inputs are f32, row-major.
std::vector<float> evaluate(const char* text, std::vector<std::vector<float>> inputs) {
  const Graph graph = parse_graph(text);
  const Node& node = graph.node(graph.order().front());
  std::vector<TensorView> in;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = graph.value(node.inputs[i]);
    in.push_back(dense_view(value.dtype, value.shape, inputs[i].data()));
  }
  const Value& result = graph.value(node.output());
  std::vector<float> out(static_cast<size_t>(elements(result.shape)));
  const TensorView view = dense_view(result.dtype, result.shape, out.data());
  rule_of(node.op).evaluate(node, in, {&view, 1});
  return out;
}

TEST(Operators, TableIsCompleteAndNamesAreUnique) {
  for (int i = 0; i < kOpCount; ++i) {
    const OperatorRule& rule = rule_of(static_cast<Op>(i));
    EXPECT_EQ(static_cast<int>(rule.op), i);
    EXPECT_EQ(rule_named(rule.name), &rule) << rule.name;
    EXPECT_NE(rule.evaluate, nullptr) << rule.name;
  }
  EXPECT_EQ(rule_named("aten.unknown"), nullptr);
}

TEST(Operators, CatAlongAnyDimension) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %a : f32[2, 1]
                          input %b : f32[2, 2]
                          %y = aten.cat(%a, %b) {dim=-1})",
                       {{1, 2}, {3, 4, 5, 6}}),
              ElementsAre(1, 3, 4, 2, 5, 6));
}

TEST(Operators, CatTakesAnEmptyPast) {
  EXPECT_THAT(evaluate(R"(graph calibrate ar=2 cl=2
                          input %past : f32[1, 0, 2]
                          input %new : f32[1, 2, 2]
                          %y = aten.cat(%past, %new) {dim=1})",
                       {{}, {1, 2, 3, 4}}),
              ElementsAre(1, 2, 3, 4));
}

TEST(Operators, TransposeSliceExpand) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2, 3]
                          %y = aten.transpose(%x) {dim0=0, dim1=1})",
                       {{1, 2, 3, 4, 5, 6}}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2, 3]
                          %y = aten.slice(%x) {dim=1, start=1, end=9223372036854775807})",
                       {{1, 2, 3, 4, 5, 6}}),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2, 1]
                          %y = aten.expand(%x) {sizes=[2, 2]})",
                       {{1, 2}}),
              ElementsAre(1, 1, 2, 2));
}

TEST(Operators, MulBroadcasts) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %a : f32[2, 2]
                          input %b : f32[2]
                          %y = aten.mul(%a, %b))",
                       {{1, 2, 3, 4}, {10, 100}}),
              ElementsAre(10, 200, 30, 400));
}

TEST(Operators, MatmulAndLinear) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %a : f32[1, 2, 2]
                          input %b : f32[1, 2, 2]
                          %y = aten.matmul(%a, %b))",
                       {{1, 2, 3, 4}, {5, 6, 7, 8}}),
              ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[1, 2]
                          input %w : f32[3, 2]
                          input %b : f32[3]
                          %y = aten.linear(%x, %w, %b))",
                       {{1, 2}, {1, 0, 0, 1, 1, 1}, {0.5, 0.5, 0.5}}),
              ElementsAre(1.5, 2.5, 3.5));
}

TEST(Operators, SoftmaxSumsToOneAndSurvivesLargeNumbers) {
  const std::vector<float> y = evaluate(R"(graph decode ar=1 cl=1
                                           input %x : f32[3]
                                           %y = aten.softmax(%x) {dim=-1})",
                                        {{1000, 1000, -1000}});
  EXPECT_THAT(y, ElementsAre(FloatEq(0.5f), FloatEq(0.5f), FloatEq(0.0f)));
}

TEST(Operators, MaskedSoftmaxPutsWhatIsMaskedBelowTheSmallestScoreOfItsRow) {
  // Rows {1, 0, 3} and {2, 9, 2} under one mask {0, 0, -255}: {1, 0, -20} and {2, 9, -18}.
  const float e = std::exp(1.0f);
  const float e7 = std::exp(7.0f);
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                  input %x : f32[2, 1, 3]
                  input %mask : f32[1, 3]
                  %y = lathe.masked_softmax(%x, %mask) {dim=-1, below=20.0})",
                       {{1, 0, 3, 2, 9, 2}, {0, 0, -255}}),
              ElementsAre(FloatEq(e / (e + 1)), FloatEq(1 / (e + 1)),
                          FloatEq(std::exp(-20.0f) / (e + 1)), FloatEq(1 / (e7 + 1)),
                          FloatEq(e7 / (e7 + 1)), FloatEq(std::exp(-20.0f) / (e7 + 1))));
}

TEST(Operators, AMaskHasToFitTheScores) {
  EXPECT_THROW(parse_graph(R"(graph decode ar=1 cl=1
                              input %x : f32[2, 3]
                              input %mask : f32[2, 1]
                              %y = lathe.masked_softmax(%x, %mask) {dim=-1, below=20.0})"),
               Error);
}

TEST(Operators, SiluAndRmsNorm) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2]
                          %y = aten.silu(%x))",
                       {{0, 1}}),
              ElementsAre(FloatEq(0.0f), FloatNear(1.0f / (1.0f + std::exp(-1.0f)), 1e-6f)));
  // mean(x^2) = 12.5; 3 / sqrt(12.5) and 2 * 4 / sqrt(12.5)
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[1, 2]
                          input %w : f32[2]
                          %y = lathe.rms_norm(%x, %w) {eps=0.0})",
                       {{3, 4}, {1, 2}}),
              ElementsAre(FloatNear(0.848528f, 1e-5f), FloatNear(2.262742f, 1e-5f)));
}

TEST(Operators, GeluByItsApproximationAndByTheErrorFunction) {
  // Values of torch.nn.functional.gelu.
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[3]
                          %y = aten.gelu(%x) {approximate=tanh})",
                       {{-1, 0, 2}}),
              ElementsAre(FloatNear(-0.158808f, 1e-6f), 0.0f, FloatNear(1.954598f, 1e-6f)));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2]
                          %y = aten.gelu(%x) {approximate=none})",
                       {{-1, 2}}),
              ElementsAre(FloatNear(-0.158655f, 1e-6f), FloatNear(1.954500f, 1e-6f)));
}

TEST(Operators, SoftcapsDivideAndTakeTheHyperbolicTangent) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2]
                          %y = aten.div(%x) {other=4})",
                       {{2, -1}}),
              ElementsAre(0.5f, -0.25f));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2]
                          %y = aten.tanh(%x))",
                       {{0.5, -20}}),
              ElementsAre(FloatNear(0.462117f, 1e-6f), -1.0f));
}

TEST(Operators, PowersOfANumberAndReciprocals) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2]
                          %y = aten.pow(%x) {base=100.0})",
                       {{0.5, 1}}),
              ElementsAre(FloatEq(10.0f), FloatEq(100.0f)));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2]
                          %y = aten.reciprocal(%x))",
                       {{4, 0.5}}),
              ElementsAre(0.25f, 2.0f));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[3]
                          %y = aten.max(%x))",
                       {{4, 7, -8}}),
              ElementsAre(7.0f));
}

TEST(Operators, ASliceTakesEveryStepthElement) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2, 4]
                          %y = aten.slice(%x) {dim=-1, start=1, end=4, step=2})",
                       {{1, 2, 3, 4, 5, 6, 7, 8}}),
              ElementsAre(2, 4, 6, 8));
}

TEST(Operators, ChunksLieBehindEachOther) {
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %x : f32[2, 4]
                          %y = aten.chunk(%x) {chunks=2, dim=-1})",
                       {{1, 2, 3, 4, 5, 6, 7, 8}}),
              ElementsAre(1, 2, 5, 6, 3, 4, 7, 8));
  EXPECT_THAT(evaluate(R"(graph decode ar=1 cl=1
                          input %parts : f32[2, 2, 1]
                          %y = operator.getitem(%parts) {index=1})",
                       {{1, 2, 3, 4}}),
              ElementsAre(3, 4));
}

TEST(Operators, EmbeddingNeverReadsOutsideItsTable) {
  const Graph graph = parse_graph(R"(graph decode ar=3 cl=3
                                     input %table : f32[2, 2]
                                     input %ids : i32[3]
                                     %y = aten.embedding(%table, %ids))");
  std::vector<float> table{1, 2, 3, 4};
  std::vector<int32_t> ids{1, -7, 9};
  std::vector<float> out(6);
  const Node& node = graph.node(graph.order().front());
  const TensorView in[] = {dense_view(DType::f32, {2, 2}, table.data()),
                           dense_view(DType::i32, {3}, ids.data())};
  const TensorView result = dense_view(DType::f32, {3, 2}, out.data());
  rule_of(node.op).evaluate(node, std::span<const TensorView>(in), {&result, 1});
  EXPECT_THAT(out, ElementsAre(3, 4, 1, 2, 3, 4));
}

}  // namespace
}  // namespace lathe
