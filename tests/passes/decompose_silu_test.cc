#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::string after_pass(const char* text) {
  Graph graph = parse_graph(text);
  decompose_silu(graph);
  verify(graph);
  return print_graph(graph);
}

TEST(decompose_silu, BecomesAProductWithTheSigmoid) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 4]
    %silu = aten.silu(%x) @ mlp.act_fn
    output y = %silu)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 4]\n"
            "  %sigmoid = aten.sigmoid(%x) : f32[1, 4] @ mlp.act_fn\n"
            "  %mul = aten.mul(%x, %sigmoid) : f32[1, 4] @ mlp.act_fn\n"
            "  output y = %mul\n");
}

TEST(decompose_silu, TheSigmoidOfAnAnnotatedGraphIsAUnit) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 4] ~u8
    %silu = aten.silu(%x) : f32[1, 4] ~u8
    output y = %silu)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 4] ~u8\n"
            "  %sigmoid = aten.sigmoid(%x) : f32[1, 4] ~u16:unit\n"
            "  %mul = aten.mul(%x, %sigmoid) : f32[1, 4] ~u8\n"
            "  output y = %mul\n");
}

TEST(decompose_silu, TheSigmoidOfAnIntegerGraphHasItsFixedEncoding) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4]<0.001, 32768>
    %silu = aten.silu(%x) : u16[1, 4]<0.0005, 500>
    output y = %silu)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : u16[1, 4]<0.001, 32768>\n"
            "  %sigmoid = aten.sigmoid(%x) : u16[1, 4]<1.5258789e-05, 0>\n"
            "  %mul = aten.mul(%x, %sigmoid) : u16[1, 4]<0.0005, 500>\n"
            "  output y = %mul\n");
}

}  // namespace
}  // namespace lathe
