#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::string after_pass(const char* text) {
  Graph graph = parse_graph(text);
  recompose_rms_norm(graph);
  return print_graph(graph);
}

TEST(recompose_rms_norm, JoinsTheSixOperators) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 1, 4]
    const %w : f32[4]
    %pow = aten.pow(%x) {exponent=2} @ model.norm
    %mean = aten.mean(%pow) {dim=-1} @ model.norm
    %add = aten.add(%mean) {other=1e-05} @ model.norm
    %rsqrt = aten.rsqrt(%add) @ model.norm
    %mul = aten.mul(%x, %rsqrt) @ model.norm
    %mul_1 = aten.mul(%w, %mul) @ model.norm
    output y = %mul_1)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 1, 4]\n"
            "  const %w : f32[4]\n"
            "  %rms_norm = lathe.rms_norm(%x, %w) {eps=1e-05} : f32[1, 1, 4] @ model.norm\n"
            "  output y = %rms_norm\n");
}

TEST(recompose_rms_norm, LeavesANormOfAnotherInputAlone) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : f32[1, 1, 4]\n"
      "  input %other : f32[1, 1, 4]\n"
      "  const %w : f32[4]\n"
      "  %pow = aten.pow(%other) {exponent=2} : f32[1, 1, 4]\n"
      "  %mean = aten.mean(%pow) {dim=-1} : f32[1, 1, 1]\n"
      "  %add = aten.add(%mean) {other=1e-05} : f32[1, 1, 1]\n"
      "  %rsqrt = aten.rsqrt(%add) : f32[1, 1, 1]\n"
      "  %mul = aten.mul(%x, %rsqrt) : f32[1, 1, 4]\n"
      "  %mul_1 = aten.mul(%w, %mul) : f32[1, 1, 4]\n"
      "  output y = %mul_1\n";
  Graph graph = parse_graph(text);
  recompose_rms_norm(graph);
  EXPECT_EQ(graph.find("rms_norm"), kNone);
}

}  // namespace
}  // namespace lathe
