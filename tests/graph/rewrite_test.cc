#include <gtest/gtest.h>

#include "graph/rewrite.h"
#include "graph/text.h"

namespace lathe {
namespace {

TEST(Rewrite, MakesAllChangesInOneSweep) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 4] ~u16
    %neg = aten.neg(%x) : f32[1, 4] ~u16
    %silu = aten.silu(%neg) : f32[1, 4] ~u16>u8:symmetric @ mlp.act_fn
    %alias = aten.alias(%silu)
    %cos = aten.cos(%alias)
    output y = %cos
    output z = %alias)");
  const NodeId silu = graph.producer(graph.find("silu"))->id;
  Rewrite rewrite(graph);
  const ValueId sigmoid = rewrite.insert_before(
      silu, {.op = Op::sigmoid, .inputs = {graph.find("neg")}, .name = "sigmoid"});
  rewrite.replace_node(silu,
                       {.op = Op::mul, .inputs = {graph.find("neg"), sigmoid}, .name = "product"});
  rewrite.replace(graph.find("alias"), graph.find("silu"));  // which is replaced in its turn
  rewrite.apply();
  graph.remove_dead();
  EXPECT_EQ(print_graph(graph),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 4] ~u16\n"
            "  %neg = aten.neg(%x) : f32[1, 4] ~u16\n"
            "  %sigmoid = aten.sigmoid(%neg) : f32[1, 4]\n"
            "  %product = aten.mul(%neg, %sigmoid) : f32[1, 4] ~u16>u8:symmetric @ mlp.act_fn\n"
            "  %cos = aten.cos(%product) : f32[1, 4]\n"
            "  output y = %cos\n"
            "  output z = %product\n");
}

}  // namespace
}  // namespace lathe
