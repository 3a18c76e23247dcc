#include <gtest/gtest.h>

#include <string>

#include "graph/constant_floats.h"
#include "passes/after_pass.h"
#include "passes/evaluate.h"

namespace lathe {
namespace {

/// Heads of `name`: linear, heads first, four of six values of each turned in pairs, joined with
/// the others as %name_turned.
std::string turned_heads(const std::string& name, int heads) {
  std::string text = R"(
  %$ = aten.linear(%x, %$_proj.weight, %$_proj.bias) @ $_proj
  %$_view = aten.view(%$) {sizes=[1, 2, -1, 6]} @ attn
  %$_heads = aten.transpose(%$_view) {dim0=1, dim1=2} @ attn
  %$_rot = aten.slice(%$_heads) {dim=3, start=0, end=4} @ attn
  %$_pass = aten.slice(%$_heads) {dim=3, start=4, end=9223372036854775807} @ attn
  %$_cos = aten.mul(%$_rot, %cos2) @ attn
  %$_even = aten.slice(%$_rot) {dim=3, start=0, end=9223372036854775807, step=2} @ attn
  %$_odd = aten.slice(%$_rot) {dim=3, start=1, end=9223372036854775807, step=2} @ attn
  %$_neg = aten.neg(%$_odd) @ attn
  %$_first = aten.unsqueeze(%$_neg) {dim=4} @ attn
  %$_second = aten.unsqueeze(%$_even) {dim=4} @ attn
  %$_pairs = aten.cat(%$_first, %$_second) {dim=-1} @ attn
  %$_crossed = aten.reshape(%$_pairs) {sizes=[1, #, 2, 4]} @ attn
  %$_sin = aten.mul(%$_crossed, %sin2) @ attn
  %$_sum = aten.add(%$_cos, %$_sin) @ attn
  %$_turned = aten.cat(%$_sum, %$_pass) {dim=-1} @ attn)";
  const auto fill = [&](char mark, const std::string& with) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, 1, with);
    }
  };
  fill('$', name);
  fill('#', std::to_string(heads));
  return text;
}

/// Rows of a table for all heads, [1, 1, 2, 4], and their first halves with every number twice.
std::string rows(const std::string& name) {
  std::string text = R"(
  %$_rows = aten.embedding(%$_table, %position) @ rotary_emb
  %$ = aten.unsqueeze(%$_rows) {dim=1} @ attn
  %$_half = aten.slice(%$) {dim=3, start=0, end=2} @ attn
  %$_column = aten.unsqueeze(%$_half) {dim=4} @ attn
  %$_twice = aten.expand(%$_column) {sizes=[1, 1, 2, 2, 2]} @ attn
  %$2 = aten.reshape(%$_twice) {sizes=[1, 1, 2, 4]} @ attn)";
  for (size_t at = text.find('$'); at != std::string::npos; at = text.find('$')) {
    text.replace(at, 1, name);
  }
  return text;
}

const std::string kBoundary = R"(graph prefill ar=2 cl=2
  input %x : f32[1, 2, 3]
  input %position : i32[1, 2]
  input %v : f32[1, 2, 2, 6]
  const %cos_table : f32[2, 4]
  const %sin_table : f32[2, 4]
  const %q_proj.weight : f32[12, 3]
  const %q_proj.bias : f32[12]
  const %k_proj.weight : f32[6, 3]
  const %k_proj.bias : f32[6])";

/// Two query heads over one key-value head, and the products that read them.
const std::string kScores = R"(
  %k_new = aten.transpose(%k_turned) {dim0=2, dim1=3} @ attn
  %k_column = aten.unsqueeze(%k_new) {dim=2} @ attn
  %k_groups = aten.expand(%k_column) {sizes=[1, 1, 2, 6, 2]} @ attn
  %keys = aten.reshape(%k_groups) {sizes=[1, 2, 6, 2]} @ attn
  %scores = aten.matmul(%q_turned, %keys) @ attn
  %shares = aten.softmax(%scores) {dim=-1} @ attn
  %mix = aten.matmul(%shares, %v) @ attn
  output y = %mix
  output k_new_0 = %k_new
)";

const std::string kAttention =
    kBoundary + rows("cos") + rows("sin") + turned_heads("q", 2) + turned_heads("k", 1) + kScores;

/// With numbers, and tables whose halves are alike, or not.
Graph attention(const std::string& text = kAttention, bool halves_alike = true) {
  Graph graph = parse_graph(text);
  for (const char* name : {"cos_table", "sin_table"}) {
    std::vector<float> table{0.1f, 0.2f, 0.1f, 0.2f, 0.9f, 0.8f, 0.9f, 0.8f};
    if (!halves_alike) table.back() = 0.7f;
    graph.set_constant(graph.find(name), float_constant(name, std::move(table)));
  }
  fill_constants(graph);
  return graph;
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

void expect_untouched(Graph graph) {
  const std::string before = print_graph(graph);
  deinterleave_rope(graph);
  EXPECT_EQ(print_graph(graph), before);
}

TEST(deinterleave_rope, PairsBecomeHalvesOfPermutedProjections) {
  Graph graph = attention();
  deinterleave_rope(graph);
  verify(graph);
  EXPECT_EQ(print_graph(graph), R"(graph prefill ar=2 cl=2
  input %x : f32[1, 2, 3]
  input %position : i32[1, 2]
  input %v : f32[1, 2, 2, 6]
  const %cos_table : f32[2, 4]
  const %sin_table : f32[2, 4]
  const %q_proj.weight.halves : f32[12, 3]
  const %q_proj.bias.halves : f32[12]
  const %k_proj.weight.halves : f32[6, 3]
  const %k_proj.bias.halves : f32[6]
  %cos_rows = aten.embedding(%cos_table, %position) : f32[1, 2, 4] @ rotary_emb
  %cos = aten.unsqueeze(%cos_rows) {dim=1} : f32[1, 1, 2, 4] @ attn
  %sin_rows = aten.embedding(%sin_table, %position) : f32[1, 2, 4] @ rotary_emb
  %sin = aten.unsqueeze(%sin_rows) {dim=1} : f32[1, 1, 2, 4] @ attn
  %q = aten.linear(%x, %q_proj.weight.halves, %q_proj.bias.halves) : f32[1, 2, 12] @ q_proj
  %q_view = aten.view(%q) {sizes=[1, 2, -1, 6]} : f32[1, 2, 2, 6] @ attn
  %q_heads = aten.transpose(%q_view) {dim0=1, dim1=2} : f32[1, 2, 2, 6] @ attn
  %q_rot = aten.slice(%q_heads) {dim=3, start=0, end=4} : f32[1, 2, 2, 4] @ attn
  %q_pass = aten.slice(%q_heads) {dim=3, start=4, end=9223372036854775807} : f32[1, 2, 2, 2] @ attn
  %mul = aten.mul(%q_rot, %cos) : f32[1, 2, 2, 4] @ attn
  %slice_1 = aten.slice(%q_rot) {dim=3, start=2, end=4} : f32[1, 2, 2, 2] @ attn
  %neg = aten.neg(%slice_1) : f32[1, 2, 2, 2] @ attn
  %slice_2 = aten.slice(%q_rot) {dim=3, start=0, end=2} : f32[1, 2, 2, 2] @ attn
  %cat = aten.cat(%neg, %slice_2) {dim=-1} : f32[1, 2, 2, 4] @ attn
  %mul_1 = aten.mul(%cat, %sin) : f32[1, 2, 2, 4] @ attn
  %add = aten.add(%mul, %mul_1) : f32[1, 2, 2, 4] @ attn
  %q_turned = aten.cat(%add, %q_pass) {dim=-1} : f32[1, 2, 2, 6] @ attn
  %k = aten.linear(%x, %k_proj.weight.halves, %k_proj.bias.halves) : f32[1, 2, 6] @ k_proj
  %k_view = aten.view(%k) {sizes=[1, 2, -1, 6]} : f32[1, 2, 1, 6] @ attn
  %k_heads = aten.transpose(%k_view) {dim0=1, dim1=2} : f32[1, 1, 2, 6] @ attn
  %k_rot = aten.slice(%k_heads) {dim=3, start=0, end=4} : f32[1, 1, 2, 4] @ attn
  %k_pass = aten.slice(%k_heads) {dim=3, start=4, end=9223372036854775807} : f32[1, 1, 2, 2] @ attn
  %mul_2 = aten.mul(%k_rot, %cos) : f32[1, 1, 2, 4] @ attn
  %slice_3 = aten.slice(%k_rot) {dim=3, start=2, end=4} : f32[1, 1, 2, 2] @ attn
  %neg_1 = aten.neg(%slice_3) : f32[1, 1, 2, 2] @ attn
  %slice_4 = aten.slice(%k_rot) {dim=3, start=0, end=2} : f32[1, 1, 2, 2] @ attn
  %cat_1 = aten.cat(%neg_1, %slice_4) {dim=-1} : f32[1, 1, 2, 4] @ attn
  %mul_3 = aten.mul(%cat_1, %sin) : f32[1, 1, 2, 4] @ attn
  %add_1 = aten.add(%mul_2, %mul_3) : f32[1, 1, 2, 4] @ attn
  %k_turned = aten.cat(%add_1, %k_pass) {dim=-1} : f32[1, 1, 2, 6] @ attn
  %k_new = aten.transpose(%k_turned) {dim0=2, dim1=3} : f32[1, 1, 6, 2] @ attn
  %k_column = aten.unsqueeze(%k_new) {dim=2} : f32[1, 1, 1, 6, 2] @ attn
  %k_groups = aten.expand(%k_column) {sizes=[1, 1, 2, 6, 2]} : f32[1, 1, 2, 6, 2] @ attn
  %keys = aten.reshape(%k_groups) {sizes=[1, 2, 6, 2]} : f32[1, 2, 6, 2] @ attn
  %scores = aten.matmul(%q_turned, %keys) : f32[1, 2, 2, 2] @ attn
  %shares = aten.softmax(%scores) {dim=-1} : f32[1, 2, 2, 2] @ attn
  %mix = aten.matmul(%shares, %v) : f32[1, 2, 2, 6] @ attn
  output y = %mix
  output k_new_0 = %k_new
)");
}

TEST(deinterleave_rope, RowsOfAHeadAreInTheOrderOfHalves) {
  Graph graph = attention();
  const std::vector<float> before = constant_floats(graph.value(graph.find("q_proj.weight")));
  deinterleave_rope(graph);
  const std::vector<float> after = constant_floats(graph.value(graph.find("q_proj.weight.halves")));
  std::vector<float> expected;
  for (const int row : {0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11}) {
    expected.insert(expected.end(), before.begin() + row * 3, before.begin() + row * 3 + 3);
  }
  EXPECT_EQ(after, expected);
}

TEST(deinterleave_rope, ProductsStayAndKeysChangePlaces) {
  Graph graph = attention();
  const auto before = evaluate(graph);
  deinterleave_rope(graph);
  const auto after = evaluate(graph);
  const std::vector<float> y = floats_of(before.at("y"));
  const std::vector<float> found = floats_of(after.at("y"));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(found[i], y[i], 1e-6f) << i;
  const std::vector<float> keys = floats_of(before.at("k_new_0"));  // [1, 1, 6, 2]
  const std::vector<float> moved = floats_of(after.at("k_new_0"));
  for (size_t d = 0; d < 6; ++d) {
    const size_t from = std::vector<size_t>{0, 2, 1, 3, 4, 5}[d];
    for (size_t token : {0, 1}) EXPECT_EQ(moved[d * 2 + token], keys[from * 2 + token]) << d;
  }
}

TEST(deinterleave_rope, BothSidesOfAProductOrNone) {
  // Keys that are read in their own order somewhere else.
  expect_untouched(attention(kAttention + "  output keys = %k_turned\n"));
  expect_untouched(attention(kAttention + "  output keys = %k_heads\n"));
  expect_untouched(attention(kAttention + "  output rows = %k\n"));
  for (const char* value :
       {"rot", "even", "neg", "first", "pairs", "crossed", "cos", "sin", "sum"}) {
    expect_untouched(attention(kAttention + "  output other = %k_" + value + "\n"));
  }
  // Queries that turn another way.
  expect_untouched(
      attention(changed(kAttention, "%q_neg = aten.neg(%q_odd)", "%q_neg = aten.neg(%q_even)")));
  expect_untouched(
      attention(changed(kAttention, "aten.mul(%q_rot, %cos2)", "aten.mul(%q_rot, %cos)")));
}

TEST(deinterleave_rope, TablesWithDifferentHalvesStay) {
  expect_untouched(attention(kAttention, false));
}

}  // namespace
}  // namespace lathe
