#include <gtest/gtest.h>

#include <cmath>

#include "graph/constant_floats.h"
#include "graph/text.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// Position ids to scaled cos and sin, as the modeling code has it; inv_freq is [1, 0.01].
Graph rotary_graph() {
  Graph graph = parse_graph(R"(
    graph prefill ar=2 cl=3
    input %position_ids : i64[1, 2]
    const %rotary_emb.inv_freq : f32[2]
    %unsqueeze = aten.unsqueeze(%position_ids) {dim=2} @ rotary_emb
    %to = aten.to(%unsqueeze) {dtype=f32} @ rotary_emb
    %mul = aten.mul(%to, %rotary_emb.inv_freq) @ rotary_emb
    %cat = aten.cat(%mul, %mul) {dim=-1} @ rotary_emb
    %cos = aten.cos(%cat) @ rotary_emb
    %mul_1 = aten.mul(%cos) {other=1.5} @ rotary_emb
    %sin = aten.sin(%cat) @ rotary_emb
    output c = %mul_1
    output s = %sin)");
  graph.set_constant(graph.find("rotary_emb.inv_freq"),
                     float_constant("rotary_emb.inv_freq", {1.0f, 0.01f}));
  return graph;
}

TEST(precomputed_rope, TrigonometryBecomesRowsOfATable) {
  Graph graph = rotary_graph();
  precomputed_rope(graph);
  EXPECT_EQ(print_graph(graph),
            "graph prefill ar=2 cl=3\n"
            "  input %position : i32[1, 2]\n"
            "  const %rotary_emb.cos_table : f32[3, 4]\n"
            "  const %rotary_emb.sin_table : f32[3, 4]\n"
            "  %embedding = aten.embedding(%rotary_emb.cos_table, %position) : f32[1, 2, 4] @ "
            "rotary_emb\n"
            "  %embedding_1 = aten.embedding(%rotary_emb.sin_table, %position) : f32[1, 2, 4] @ "
            "rotary_emb\n"
            "  output c = %embedding\n"
            "  output s = %embedding_1\n");
}

TEST(precomputed_rope, TablesHoldScaledFloat32Values) {
  Graph graph = rotary_graph();
  precomputed_rope(graph);
  const std::vector<float> rows = constant_floats(graph.value(graph.find("rotary_emb.cos_table")));
  ASSERT_EQ(rows.size(), 12u);
  for (int position = 0; position < 3; ++position) {
    for (int i = 0; i < 4; ++i) {
      const float angle = static_cast<float>(position) * (i % 2 == 0 ? 1.0f : 0.01f);
      EXPECT_FLOAT_EQ(rows[static_cast<size_t>(4 * position + i)], std::cos(angle) * 1.5f);
    }
  }
}

}  // namespace
}  // namespace lathe
