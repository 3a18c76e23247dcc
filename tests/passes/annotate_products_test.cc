#include <gtest/gtest.h>

#include <map>
#include <string>

#include "passes/after_pass.h"

namespace lathe {
namespace {

constexpr QuantSpec kBytes{DType::u8, Scheme::symmetric};

/// A textual graph annotated with a rule for the products of some modules, verified.
Graph annotated(const std::string& text, const std::map<std::string, QuantSpec>& rules) {
  Graph graph = parse_graph(text);
  PassOptions options;
  for (const NodeId id : graph.order()) {
    const auto rule = rules.find(graph.node(id).module);
    if (rule != rules.end() && graph.node(id).op == Op::linear) {
      options.products.emplace(id, rule->second);
    }
  }
  annotate(graph, options);
  annotate_products(graph, options);
  verify(graph);
  return graph;
}

constexpr const char* kTwoProducts = R"(
  graph decode ar=1 cl=1
  input %x : f32[1, 1, 8]
  const %wk : f32[8, 8]
  const %wv : f32[8, 8]
  const %wo : f32[8, 8]
  %h = aten.silu(%x) @ act
  %k = aten.linear(%h, %wk) @ k_proj
  %v = aten.linear(%h, %wv) @ v_proj
  %row = aten.view(%v) {sizes=[1, 8]} @ attn
  %y = aten.linear(%row, %wo) @ o_proj
  output k = %k
  output y = %y
)";

TEST(annotate_products, TheInputIsRequantizedAndTheResultHeldAsTheRuleSays) {
  EXPECT_EQ(print_graph(annotated(kTwoProducts, {{"v_proj", kBytes}})), R"(graph decode ar=1 cl=1
  input %x : f32[1, 1, 8] ~u16
  const %wk : f32[8, 8]
  const %wv : f32[8, 8]
  const %wo : f32[8, 8]
  %h = aten.silu(%x) : f32[1, 1, 8] ~u16 @ act
  %requantize = lathe.requantize(%h) : f32[1, 1, 8] ~u8:symmetric @ v_proj
  %k = aten.linear(%h, %wk) : f32[1, 1, 8] ~u16 @ k_proj
  %v = aten.linear(%requantize, %wv) : f32[1, 1, 8] ~u8:symmetric @ v_proj
  %row = aten.view(%v) {sizes=[1, 8]} : f32[1, 8] ~u8:symmetric @ attn
  %y = aten.linear(%row, %wo) : f32[1, 8] ~u16 @ o_proj
  output k = %k
  output y = %y
)");
}

TEST(annotate_products, ProductsThatWantTheSameShareTheRequantize) {
  const Graph graph = annotated(kTwoProducts, {{"k_proj", kBytes}, {"v_proj", kBytes}});
  const ValueId read = graph.producer(graph.find("k"))->inputs[0];
  EXPECT_EQ(graph.producer(read)->op, Op::requantize);
  EXPECT_EQ(graph.producer(graph.find("v"))->inputs[0], read);
}

TEST(annotate_products, AnInputThatIsAsWantedIsReadAsItIs) {
  const Graph graph = annotated(kTwoProducts, {{"v_proj", kBytes}, {"o_proj", kBytes}});
  EXPECT_EQ(graph.producer(graph.find("y"))->inputs[0], graph.find("row"));
}

TEST(annotate_products, ARuleMayAskForSymmetricNumbersOfTheUsualWidth) {
  const QuantSpec wide{DType::u16, Scheme::symmetric};
  const Graph graph = annotated(kTwoProducts, {{"o_proj", wide}});
  const Value& read = graph.value(graph.producer(graph.find("y"))->inputs[0]);
  EXPECT_EQ(read.spec, wide);
  EXPECT_EQ(graph.value(graph.find("y")).spec, wide);
  EXPECT_EQ(graph.value(graph.find("row")).spec, QuantSpec{});
}

// Values next to the cache: %cat has two sources.
constexpr const char* kValues = R"(
  graph decode ar=1 cl=4
  input %x : f32[1, 1, 8]
  input %v_cache_0 : f32[1, 1, 3, 8]
  input %p : f32[1, 1, 1, 4]
  const %w : f32[8, 8]
  %v = aten.linear(%x, %w) @ v_proj
  %heads = aten.view(%v) {sizes=[1, 1, 1, 8]} @ attn
  %all = aten.cat(%v_cache_0, %heads) {dim=2} @ attn
  %mix = aten.matmul(%p, %all) @ attn
  output y = %mix
  output v_new_0 = %heads
)";

TEST(annotate_products, OthersInTheGroupOfAResultKeepTheirSpec) {
  const Graph graph = annotated(kValues, {{"v_proj", kBytes}});
  EXPECT_EQ(graph.value(graph.find("v")).spec, kBytes);
  EXPECT_EQ(graph.value(graph.find("v")).read_as, QuantSpec{});
  EXPECT_EQ(graph.value(graph.find("v_cache_0")).spec, QuantSpec{});
}

TEST(annotate_products, ValuesInThe8BitFormOfTheCacheNeedNoRequantizeBehindThem) {
  Graph graph = annotated(kValues, {{"v_proj", kBytes}});
  annotate_kv_8bit(graph, {});
  insert_requantize(graph);
  verify(graph);
  EXPECT_EQ(print_graph(graph), R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 8] ~u16
  input %v_cache_0 : f32[1, 1, 3, 8] ~u8:symmetric
  input %p : f32[1, 1, 1, 4] ~u16
  const %w : f32[8, 8]
  %requantize = lathe.requantize(%x) : f32[1, 1, 8] ~u8:symmetric @ v_proj
  %v = aten.linear(%requantize, %w) : f32[1, 1, 8] ~u8:symmetric @ v_proj
  %heads = aten.view(%v) {sizes=[1, 1, 1, 8]} : f32[1, 1, 1, 8] ~u8:symmetric @ attn
  %all = aten.cat(%v_cache_0, %heads) {dim=2} : f32[1, 1, 4, 8] ~u8:symmetric @ attn
  %mix = aten.matmul(%p, %all) : f32[1, 1, 1, 8] ~u16 @ attn
  output y = %mix
  output v_new_0 = %heads
)");
}

TEST(annotate_products, With16BitCachesOneFollowsTheProduct) {
  Graph graph = annotated(kValues, {{"v_proj", kBytes}});
  insert_requantize(graph);
  verify(graph);
  const Node& view = *graph.producer(graph.find("heads"));
  EXPECT_EQ(graph.producer(view.inputs[0])->op, Op::requantize);
  EXPECT_EQ(graph.producer(view.inputs[0])->inputs[0], graph.find("v"));
}

TEST(annotate_products, DoesNothingWithoutRules) {
  Graph graph = parse_graph(kTwoProducts);
  annotate(graph, {});
  const std::string before = print_graph(graph);
  annotate_products(graph, {});
  EXPECT_EQ(print_graph(graph), before);
}

}  // namespace
}  // namespace lathe
