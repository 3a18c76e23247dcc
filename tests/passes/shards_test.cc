#include "passes/shards.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "support/error.h"

namespace lathe {
namespace {

/// Two layers that only add something, with a rotary row that both read.
constexpr const char* kWhole = R"(
    graph decode ar=1 cl=4
    input %tokens : i32[1, 1]
    input %position : i32[1, 1]
    const %table : u16[8, 4]<0.5, 0>
    const %cos_table : u16[4, 4]<0.5, 0>
    %embedding = aten.embedding(%table, %tokens) : u16[1, 1, 4]<0.5, 0> @ model.embed_tokens
    %cos = aten.embedding(%cos_table, %position) : u16[1, 1, 4]<0.5, 0> @ model.rotary_emb
    %a = aten.add(%embedding, %cos) : u16[1, 1, 4]<0.5, 1> @ model.layers.0.self_attn
    %b = aten.add(%a, %cos) : u16[1, 1, 4]<0.5, 2> @ model.layers.1.self_attn
    %logits = aten.silu(%b) : u16[1, 1, 4]<0.5, 3> @ lm_head
    output logits = %logits)";

TEST(shards, CutByLayersWithRotaryRowsInEach) {
  const std::vector<Graph> parts = split_layers(parse_graph(kWhole), {.count = 2});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(print_graph(parts[0]),
            "graph decode ar=1 cl=4\n"
            "  input %tokens : i32[1, 1]\n"
            "  input %position : i32[1, 1]\n"
            "  const %table : u16[8, 4]<0.5, 0>\n"
            "  const %cos_table : u16[4, 4]<0.5, 0>\n"
            "  %embedding = aten.embedding(%table, %tokens) : u16[1, 1, 4]<0.5, 0> @ "
            "model.embed_tokens\n"
            "  %cos = aten.embedding(%cos_table, %position) : u16[1, 1, 4]<0.5, 0> @ "
            "model.rotary_emb\n"
            "  %a = aten.add(%embedding, %cos) : u16[1, 1, 4]<0.5, 1> @ model.layers.0.self_attn\n"
            "  output a = %a\n");
  EXPECT_EQ(print_graph(parts[1]),
            "graph decode ar=1 cl=4\n"
            "  input %position : i32[1, 1]\n"
            "  input %a : u16[1, 1, 4]<0.5, 1>\n"
            "  const %cos_table : u16[4, 4]<0.5, 0>\n"
            "  %cos = aten.embedding(%cos_table, %position) : u16[1, 1, 4]<0.5, 0> @ "
            "model.rotary_emb\n"
            "  %b = aten.add(%a, %cos) : u16[1, 1, 4]<0.5, 2> @ model.layers.1.self_attn\n"
            "  %logits = aten.silu(%b) : u16[1, 1, 4]<0.5, 3> @ lm_head\n"
            "  output logits = %logits\n");
}

TEST(shards, TheEmbeddingMayBeAPartOfItsOwn) {
  const std::vector<Graph> parts =
      split_layers(parse_graph(kWhole), {.count = 1, .embedding_first = true});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(print_graph(parts[0]),
            "graph decode ar=1 cl=4\n"
            "  input %tokens : i32[1, 1]\n"
            "  const %table : u16[8, 4]<0.5, 0>\n"
            "  %embedding = aten.embedding(%table, %tokens) : u16[1, 1, 4]<0.5, 0> @ "
            "model.embed_tokens\n"
            "  output embedding = %embedding\n");
  EXPECT_EQ(parts[1].inputs().size(), 2u);  // position and embedding
}

TEST(shards, AtMostOneALayer) {
  const Graph whole = parse_graph(kWhole);
  EXPECT_EQ(layer_count(whole), 2);
  EXPECT_THROW(split_layers(whole, {.count = 3}), Error);
  EXPECT_THROW(split_layers(whole, {.count = 0}), Error);
}

}  // namespace
}  // namespace lathe
