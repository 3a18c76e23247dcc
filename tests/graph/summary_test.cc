#include "graph/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "graph/text.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// One attention step as the boundary sees it: a lookup, a projection, and the caches.
TEST(Summary, CountsOperatorsAndBytes) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=8
    input %tokens : i32[1, 1]
    input %attention_mask : u16[1, 1, 1, 8]<0.25, 65535>
    input %k_cache_0 : u8[1, 2, 4, 7]<0.5, 128>
    const %table : u16[32, 8]<0.5, 7>
    const %w : i8[8, 8]<per channel 0>
    %x = aten.embedding(%table, %tokens) : u16[1, 1, 8]<0.5, 7>
    %k = aten.linear(%x, %w) : u16[1, 1, 8]<0.5, 9>
    %q = lathe.requantize(%k) : u8[1, 1, 8]<0.5, 128>
    %r = aten.view(%q) {sizes=[1, 2, 4, 1]} : u8[1, 2, 4, 1]<0.5, 128>
    %cat = aten.cat(%k_cache_0, %r) {dim=3} : u8[1, 2, 4, 8]<0.5, 128>
    %y = aten.add(%cat, %attention_mask) : u16[1, 2, 4, 8]<0.5, 7>
    output logits = %y
    output k_new_0 = %r)");
  const auto give_data = [&](const char* name, size_t bytes) {
    graph.set_constant(graph.find(name), bytes_constant(name, std::vector<std::byte>(bytes)));
  };
  give_data("table", 32 * 8 * 2);
  give_data("w", 8 * 8);

  const GraphSummary summary = summarize(graph);
  EXPECT_THAT(summary.operators, ElementsAre(Pair("aten.add", 1), Pair("aten.cat", 1),
                                             Pair("aten.embedding", 1), Pair("aten.linear", 1),
                                             Pair("aten.view", 1), Pair("lathe.requantize", 1)));
  // products, elementwise, movement, casts, making
  EXPECT_THAT(summary.kinds, ElementsAre(1, 1, 3, 1, 0));
  EXPECT_EQ(summary.operator_count(), 6);
  EXPECT_EQ(summary.weight_bytes, 64 + 1 * 8 * 2);  // the matrix, and one row of the table
  EXPECT_EQ(summary.kv_bytes_in, 2 * 4 * 7);
  EXPECT_EQ(summary.kv_bytes_out, 2 * 4);
  // ids, mask and logits
  EXPECT_EQ(summary.boundary_bytes, 4 + 8 * 2 + 2 * 4 * 8 * 2);
  // x, k, q and cat; r is q's memory
  EXPECT_EQ(summary.activation_bytes, 16 + 16 + 8 + 2 * 4 * 8);
}

TEST(Summary, ATableThatAProductReadsTooCountsInFull) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %tokens : i32[1, 1]
    const %table : f32[32, 8]
    %x = aten.embedding(%table, %tokens)
    %y = aten.linear(%x, %table)
    output logits = %y)");
  graph.set_constant(graph.find("table"), float_constant("table", std::vector<float>(32 * 8)));
  EXPECT_EQ(summarize(graph).weight_bytes, 32 * 8 * 4);
}

/// Of two layers the first slides: its ring has 3 slots where the other has 7.
TEST(Summary, SaysWhatTheCachesWouldTakeWithoutRings) {
  const Graph graph = parse_graph(R"(
    graph decode ar=1 cl=8 w=3
    input %k_cache_0 : u8[1, 2, 4, 3]<0.5, 128>
    input %v_cache_0 : u8[1, 2, 3, 4]<0.5, 128>
    input %k_cache_1 : u8[1, 2, 4, 7]<0.5, 128>
    input %v_cache_1 : u8[1, 2, 7, 4]<0.5, 128>)");
  const GraphSummary summary = summarize(graph);
  EXPECT_EQ(summary.kv_bytes_in, 2 * 2 * 4 * (3 + 7));
  EXPECT_EQ(summary.kv_bytes_full_context, 2 * 2 * 4 * (7 + 7));
}

/// Caches of a Llama 3.2 1B: 16 layers, 8 key-value heads of 64, context 1024.
constexpr int kLayers = 16;

/// hf: 8 bits, and only the new pair comes out.
std::string new_pairs() {
  std::string inputs;
  std::string outputs;
  for (int i = 0; i < kLayers; ++i) {
    inputs += fmt::format(
        "input %k_cache_{0} : u8[1, 8, 64, 1023]<0.5, 128>\n"
        "input %v_cache_{0} : u8[1, 8, 1023, 64]<0.5, 128>\n"
        "input %k{0} : u8[1, 8, 64, 1]<0.5, 128>\n"
        "input %v{0} : u8[1, 8, 1, 64]<0.5, 128>\n",
        i);
    outputs += fmt::format("output k_new_{0} = %k{0}\noutput v_new_{0} = %v{0}\n", i);
  }
  return "graph decode ar=1 cl=1024\n" + inputs + outputs;
}

/// hf_mainline: 16 bits, and whole caches come out.
std::string whole_caches() {
  std::string inputs;
  std::string outputs;
  for (int i = 0; i < kLayers; ++i) {
    for (const char* kind : {"keys", "values"}) {
      inputs += fmt::format("input %static_cache.layers.{}.{} : u16[1, 8, 1024, 64]<0.5, 32768>\n",
                            i, kind);
      outputs += fmt::format("output layers.{0}.{1} = %static_cache.layers.{0}.{1}\n", i, kind);
    }
  }
  return "graph decode ar=1 cl=1024\n" + inputs + outputs;
}

TEST(Summary, CacheBytesOfALlama1BAtContext1024) {
  const GraphSummary hf = summarize(parse_graph(new_pairs()));
  EXPECT_EQ(hf.kv_bytes_in, 16'760'832);  // 16.8 MB
  EXPECT_EQ(hf.kv_bytes_out, 16 * 1024);  // 16 KiB
  const GraphSummary mainline = summarize(parse_graph(whole_caches()));
  EXPECT_EQ(mainline.kv_bytes_in, 33'554'432);  // 33.5 MB
  EXPECT_EQ(mainline.kv_bytes_out, 33'554'432);
}

}  // namespace
}  // namespace lathe
