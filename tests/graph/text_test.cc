#include "graph/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error.h"

namespace lathe {
namespace {

using testing::HasSubstr;

constexpr const char* kGraph =
    "graph decode ar=1 cl=8\n"
    "  input %x : u16[1, 4]<0.001, 32768>\n"
    "  const %w : i8[8, 4]<per channel 0>\n"
    "  %linear = aten.linear(%x, %w) : u16[1, 8]<0.5, 7> @ model.layers.0.mlp.up_proj\n"
    "  %mul = aten.mul(%linear) {other=0.5} : u16[1, 8]<0.25, 7>\n"
    "  %view = aten.view(%mul) {sizes=[1, 2, -1]} : u16[1, 2, 4]<0.25, 7>\n"
    "  output y = %view\n";

TEST(GraphText, PrintsWhatItReads) { EXPECT_EQ(print_graph(parse_graph(kGraph)), kGraph); }

TEST(GraphText, NamesTheWindowOfSlidingLayers) {
  const std::string text =
      "graph decode ar=1 cl=8 w=4\n"
      "  input %x : f32[1, 4]\n"
      "  output y = %x\n";
  const Graph graph = parse_graph(text);
  EXPECT_EQ(graph.window(), 4);
  EXPECT_EQ(graph.io().window, 4);
  EXPECT_EQ(print_graph(graph), text);
}

TEST(GraphText, ShowsWeightsInBlocks) {
  const std::string text =
      "graph decode ar=1 cl=8\n"
      "  input %x : u16[1, 64]<0.001, 32768>\n"
      "  const %w : i4[8, 64]<per channel 0, blocks of 32>\n"
      "  %linear = aten.linear(%x, %w) : u16[1, 8]<0.5, 7>\n"
      "  output y = %linear\n";
  const Graph graph = parse_graph(text);
  EXPECT_EQ(graph.value(graph.find("w")).encoding->block, 32);
  EXPECT_EQ(to_string(*graph.value(graph.find("w")).encoding),
            "i4 per channel of axis 0 in blocks of 32");
  EXPECT_EQ(print_graph(graph), text);
}

TEST(GraphText, InfersTypesThatAreLeftOut) {
  const Graph graph = parse_graph(R"(
    graph calibrate ar=2 cl=2
    input %x : f32[1, 2, 8]
    %transpose = aten.transpose(%x) {dim0=1, dim1=2}
    output y = %transpose)");
  EXPECT_EQ(graph.value(graph.find("transpose")).shape, (Shape{1, 8, 2}));
  EXPECT_EQ(graph.role(), GraphRole::calibrate);
}

TEST(GraphText, TellsIntegersFromReals) {
  const Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[4]
    %add = aten.add(%x) {other=1.0}
    %pow = aten.pow(%add) {exponent=2}
    output y = %pow)");
  EXPECT_THAT(print_graph(graph), HasSubstr("{other=1.0}"));
  EXPECT_THAT(print_graph(graph), HasSubstr("{exponent=2}"));
}

struct BadText {
  const char* text;
  const char* complaint;
};

class GraphTextRefuses : public testing::TestWithParam<BadText> {};

TEST_P(GraphTextRefuses, WithTheLine) {
  try {
    parse_graph(GetParam().text);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphTextRefuses,
    testing::Values(
        BadText{"", "empty"}, BadText{"graph sideways ar=1 cl=1", "line 1"},
        BadText{"graph decode ar=1 cl=1\n%y = aten.neg(%x)", "line 2"},
        BadText{"graph decode ar=1 cl=1\ninput %x : f32[2]\n%y = aten.fly(%x)", "aten.fly"},
        BadText{"graph decode ar=1 cl=1\ninput %x : f32[2]\ninput %x : f32[2]", "new name"},
        BadText{"graph decode ar=1 cl=1\ninput %x : f32[2]\n%y = aten.neg(%x) : f32[3]",
                "shape [2]"},
        BadText{"graph decode ar=1 cl=1\ninput %x : f99[2]", "unknown element type"}));

}  // namespace
}  // namespace lathe
