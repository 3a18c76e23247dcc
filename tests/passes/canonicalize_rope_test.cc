#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/constant_floats.h"
#include "passes/after_pass.h"

namespace lathe {
namespace {

/// Tables [CL = 4, D = 4] whose halves are alike, or not. `x` names what rotates, four numbers of
/// each head, `more` is behind it.
Graph rotated(bool halves_alike, const std::string& x = "  input %x : f32[1, 2, 1, 4]\n",
              const std::string& more = "  output y = %y\n") {
  Graph graph = parse_graph("graph decode ar=1 cl=4\n" + x + R"(
  input %position : i32[1, 1]
  const %rotary_emb.cos_table : f32[4, 4]
  const %rotary_emb.sin_table : f32[4, 4]
  %c = aten.embedding(%rotary_emb.cos_table, %position) @ rotary_emb
  %s = aten.embedding(%rotary_emb.sin_table, %position) @ rotary_emb
  %cos = aten.unsqueeze(%c) {dim=1} @ self_attn
  %sin = aten.unsqueeze(%s) {dim=1} @ self_attn
  %straight = aten.mul(%x, %cos) @ self_attn
  %x1 = aten.slice(%x) {dim=3, start=0, end=2} @ self_attn
  %x2 = aten.slice(%x) {dim=3, start=2, end=9223372036854775807} @ self_attn
  %neg = aten.neg(%x2) @ self_attn
  %half = aten.cat(%neg, %x1) {dim=-1} @ self_attn
  %turned = aten.mul(%half, %sin) @ self_attn
  %y = aten.add(%straight, %turned) @ self_attn
)" + more);
  for (const char* name : {"rotary_emb.cos_table", "rotary_emb.sin_table"}) {
    std::vector<float> table;
    for (int i = 0; i < 16; ++i) {
      table.push_back(static_cast<float>(halves_alike ? i / 4 * 2 + i % 2 : i));
    }
    graph.set_constant(graph.find(name), float_constant(name, std::move(table)));
  }
  return graph;
}

TEST(canonicalize_rope, TheHalvesAreTurnedApart) {
  Graph graph = rotated(true);
  canonicalize_rope(graph);
  verify(graph);
  EXPECT_EQ(print_graph(graph), R"(graph decode ar=1 cl=4
  input %x : f32[1, 2, 1, 4]
  input %position : i32[1, 1]
  const %rotary_emb.cos_table : f32[4, 2]
  const %rotary_emb.sin_table : f32[4, 2]
  %embedding = aten.embedding(%rotary_emb.cos_table, %position) : f32[1, 1, 2] @ rotary_emb
  %unsqueeze = aten.unsqueeze(%embedding) {dim=1} : f32[1, 1, 1, 2] @ rotary_emb
  %embedding_1 = aten.embedding(%rotary_emb.sin_table, %position) : f32[1, 1, 2] @ rotary_emb
  %unsqueeze_1 = aten.unsqueeze(%embedding_1) {dim=1} : f32[1, 1, 1, 2] @ rotary_emb
  %slice_1 = aten.slice(%x) {dim=3, start=0, end=2} : f32[1, 2, 1, 2] @ self_attn
  %slice_2 = aten.slice(%x) {dim=3, start=2, end=4} : f32[1, 2, 1, 2] @ self_attn
  %mul = aten.mul(%slice_1, %unsqueeze) : f32[1, 2, 1, 2] @ self_attn
  %mul_1 = aten.mul(%slice_2, %unsqueeze_1) : f32[1, 2, 1, 2] @ self_attn
  %sub = aten.sub(%mul, %mul_1) : f32[1, 2, 1, 2] @ self_attn
  %mul_2 = aten.mul(%slice_2, %unsqueeze) : f32[1, 2, 1, 2] @ self_attn
  %mul_3 = aten.mul(%slice_1, %unsqueeze_1) : f32[1, 2, 1, 2] @ self_attn
  %add = aten.add(%mul_2, %mul_3) : f32[1, 2, 1, 2] @ self_attn
  %cat = aten.cat(%sub, %add) {dim=3} : f32[1, 2, 1, 4] @ self_attn
  output y = %cat
)");
  const Value& cos = graph.value(graph.producer(graph.find("embedding"))->inputs[0]);
  EXPECT_EQ(constant_floats(cos), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(canonicalize_rope, WhereAPartOfAHeadRotatesOneCatJoinsIt) {
  Graph graph = rotated(true, R"(
  input %head : f32[1, 2, 1, 6]
  %x = aten.slice(%head) {dim=3, start=1, end=5}
)",
                        R"(
  %rest = aten.slice(%head) {dim=3, start=5, end=6}
  %joined = aten.cat(%y, %rest) {dim=-1}
  output y = %joined
)");
  canonicalize_rope(graph);
  verify(graph);
  EXPECT_THAT(
      print_graph(graph),
      testing::AllOf(testing::HasSubstr("%slice_1 = aten.slice(%head) {dim=3, start=1, end=3}"),
                     testing::HasSubstr("%slice_2 = aten.slice(%head) {dim=3, start=3, end=5}"),
                     testing::HasSubstr("%cat = aten.cat(%sub, %add, %rest) {dim=3}"),
                     testing::Not(testing::HasSubstr("%joined"))));
}

TEST(canonicalize_rope, TablesWithDifferentHalvesStay) {
  Graph graph = rotated(false);
  const std::string before = print_graph(graph);
  canonicalize_rope(graph);
  EXPECT_EQ(print_graph(graph), before);
}

}  // namespace
}  // namespace lathe
