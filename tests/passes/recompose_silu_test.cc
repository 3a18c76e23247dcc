#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::string after_pass(const char* text) {
  Graph graph = parse_graph(text);
  recompose_silu(graph);
  return print_graph(graph);
}

TEST(recompose_silu, JoinsBothOrdersOfTheProduct) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 4] ~u16
    %sigmoid = aten.sigmoid(%x) : f32[1, 4] ~u16:unit @ mlp.act_fn
    %mul = aten.mul(%x, %sigmoid) : f32[1, 4] ~u16 @ mlp.act_fn
    %sigmoid_1 = aten.sigmoid(%mul) : f32[1, 4] ~u16:unit @ mlp.act_fn
    %mul_1 = aten.mul(%sigmoid_1, %mul) : f32[1, 4] ~u16>u8:symmetric @ mlp.act_fn
    output y = %mul_1)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 4] ~u16\n"
            "  %silu = aten.silu(%x) : f32[1, 4] ~u16 @ mlp.act_fn\n"
            "  %silu_1 = aten.silu(%silu) : f32[1, 4] ~u16>u8:symmetric @ mlp.act_fn\n"
            "  output y = %silu_1\n");
}

TEST(recompose_silu, LeavesAnotherGateAlone) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : f32[1, 4]\n"
      "  input %gate : f32[1, 4]\n"
      "  %sigmoid = aten.sigmoid(%gate) : f32[1, 4]\n"
      "  %mul = aten.mul(%x, %sigmoid) : f32[1, 4]\n"
      "  output y = %mul\n";
  EXPECT_EQ(after_pass(text), text);
}

}  // namespace
}  // namespace lathe
