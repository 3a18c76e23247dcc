#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/attention_layer.h"
#include "passes/evaluate.h"
#include "passes/pass.h"

namespace lathe {
namespace {

// Two heads of dimension 4; one token behind a past of two.
constexpr const char* kTwoHeads = R"(
  graph decode ar=1 cl=3
  input %x : u16[1, 6, 1, 1]<0.001, 32768>
  input %attention_mask : u16[1, 1, 1, 3]<0.0038910506, 65535>
  input %k_cache_0 : u8[1, 2, 4, 2]<0.1, 128>
  input %v_cache_0 : u8[1, 2, 2, 4]<0.2, 128>
  const %q_proj.weight : i8[8, 6, 1, 1]<per channel 0>
  const %k_proj.weight : i8[8, 6, 1, 1]<per channel 0>
  const %v_proj.weight : i8[8, 6, 1, 1]<per channel 0>
  const %o_proj.weight : i8[6, 8, 1, 1]<per channel 0>
  %q = aten.conv2d(%x, %q_proj.weight) : u16[1, 8, 1, 1]<0.002, 30000> @ q_proj
  %q.rows = aten.permute(%q) {dims=[0, 3, 1, 2]} : u16[1, 1, 8, 1]<0.002, 30000> @ q_proj
  %q.split = aten.reshape(%q.rows) {sizes=[1, 1, 2, 4]} : u16[1, 1, 2, 4]<0.002, 30000>
  %q.heads = aten.transpose(%q.split) {dim0=1, dim1=2} : u16[1, 2, 1, 4]<0.002, 30000>
  %k = aten.conv2d(%x, %k_proj.weight) : u16[1, 8, 1, 1]<0.003, 30000> @ k_proj
  %k.8 = lathe.requantize(%k) : u8[1, 8, 1, 1]<0.1, 128> @ k_proj
  %k.rows = aten.permute(%k.8) {dims=[0, 3, 1, 2]} : u8[1, 1, 8, 1]<0.1, 128> @ k_proj
  %k.split = aten.reshape(%k.rows) {sizes=[1, 1, 2, 4]} : u8[1, 1, 2, 4]<0.1, 128>
  %k.heads = aten.transpose(%k.split) {dim0=1, dim1=2} : u8[1, 2, 1, 4]<0.1, 128>
  %k.new = aten.transpose(%k.heads) {dim0=2, dim1=3} : u8[1, 2, 4, 1]<0.1, 128>
  %keys = aten.cat(%k_cache_0, %k.new) {dim=3} : u8[1, 2, 4, 3]<0.1, 128>
  %v = aten.conv2d(%x, %v_proj.weight) : u16[1, 8, 1, 1]<0.004, 30000> @ v_proj
  %v.8 = lathe.requantize(%v) : u8[1, 8, 1, 1]<0.2, 128> @ v_proj
  %v.rows = aten.permute(%v.8) {dims=[0, 3, 1, 2]} : u8[1, 1, 8, 1]<0.2, 128> @ v_proj
  %v.split = aten.reshape(%v.rows) {sizes=[1, 1, 2, 4]} : u8[1, 1, 2, 4]<0.2, 128>
  %v.heads = aten.transpose(%v.split) {dim0=1, dim1=2} : u8[1, 2, 1, 4]<0.2, 128>
  %values = aten.cat(%v_cache_0, %v.heads) {dim=2} : u8[1, 2, 3, 4]<0.2, 128>
  %scores = aten.matmul(%q.heads, %keys) : u16[1, 2, 1, 3]<0.01, 32768>
  %masked = aten.add(%scores, %attention_mask) : u16[1, 2, 1, 3]<0.01, 60000>
  %softmax = aten.softmax(%masked) {dim=-1} : u16[1, 2, 1, 3]<1.5258789e-05, 0>
  %mixed = aten.matmul(%softmax, %values) : u16[1, 2, 1, 4]<0.005, 32768>
  %merged = aten.transpose(%mixed) {dim0=1, dim1=2} : u16[1, 1, 2, 4]<0.005, 32768>
  %o.rows = aten.reshape(%merged) {sizes=[1, 1, 8, 1]} : u16[1, 1, 8, 1]<0.005, 32768>
  %o.channels = aten.permute(%o.rows) {dims=[0, 2, 3, 1]} : u16[1, 8, 1, 1]<0.005, 32768> @ o_proj
  %o = aten.conv2d(%o.channels, %o_proj.weight) : u16[1, 6, 1, 1]<0.006, 32768> @ o_proj
  output y = %o
  output k_new_0 = %k.new
  output v_new_0 = %v.heads)";

TEST(mha_to_sha, CutsEverythingByHead) {
  Graph graph = parse_graph(kTwoHeads);
  mha_to_sha(graph);
  verify(graph, true);
  EXPECT_EQ(print_graph(graph),
            "graph decode ar=1 cl=3\n"
            "  input %x : u16[1, 6, 1, 1]<0.001, 32768>\n"
            "  input %attention_mask : u16[1, 1, 1, 3]<0.0038910506, 65535>\n"
            "  input %k_cache_0 : u8[1, 2, 4, 2]<0.1, 128>\n"
            "  input %v_cache_0 : u8[1, 2, 2, 4]<0.2, 128>\n"
            "  const %q_proj.weight.h0 : i8[4, 6, 1, 1]<per channel 0>\n"
            "  const %k_proj.weight.h0 : i8[4, 6, 1, 1]<per channel 0>\n"
            "  const %v_proj.weight.h0 : i8[4, 6, 1, 1]<per channel 0>\n"
            "  const %q_proj.weight.h1 : i8[4, 6, 1, 1]<per channel 0>\n"
            "  const %k_proj.weight.h1 : i8[4, 6, 1, 1]<per channel 0>\n"
            "  const %v_proj.weight.h1 : i8[4, 6, 1, 1]<per channel 0>\n"
            "  const %o_proj.weight : i8[6, 8, 1, 1]<per channel 0>\n"
            "  %q.h0 = aten.conv2d(%x, %q_proj.weight.h0) : u16[1, 4, 1, 1]<0.002, 30000> @ "
            "q_proj\n"
            "  %q.heads.h0 = aten.permute(%q.h0) {dims=[0, 2, 3, 1]} : u16[1, 1, 1, "
            "4]<0.002, 30000>\n"
            "  %k_cache_0.h0 = aten.slice(%k_cache_0) {dim=1, start=0, end=1} : u8[1, 1, 4, "
            "2]<0.1, 128>\n"
            "  %k.h0 = aten.conv2d(%x, %k_proj.weight.h0) : u16[1, 4, 1, 1]<0.003, 30000> @ "
            "k_proj\n"
            "  %k.8.h0 = lathe.requantize(%k.h0) : u8[1, 4, 1, 1]<0.1, 128> @ k_proj\n"
            "  %k.heads.h0 = aten.permute(%k.8.h0) {dims=[0, 2, 3, 1]} : u8[1, 1, 1, 4]<0.1, "
            "128>\n"
            "  %k.new.h0 = aten.transpose(%k.heads.h0) {dim0=2, dim1=3} : u8[1, 1, 4, "
            "1]<0.1, 128>\n"
            "  %keys.h0 = aten.cat(%k_cache_0.h0, %k.new.h0) {dim=3} : u8[1, 1, 4, 3]<0.1, 128>\n"
            "  %scores.h0 = aten.matmul(%q.heads.h0, %keys.h0) : u16[1, 1, 1, 3]<0.01, 32768>\n"
            "  %masked.h0 = aten.add(%scores.h0, %attention_mask) : u16[1, 1, 1, 3]<0.01, "
            "60000>\n"
            "  %softmax.h0 = aten.softmax(%masked.h0) {dim=-1} : u16[1, 1, 1, "
            "3]<1.5258789e-05, 0>\n"
            "  %v_cache_0.h0 = aten.slice(%v_cache_0) {dim=1, start=0, end=1} : u8[1, 1, 2, "
            "4]<0.2, 128>\n"
            "  %v.h0 = aten.conv2d(%x, %v_proj.weight.h0) : u16[1, 4, 1, 1]<0.004, 30000> @ "
            "v_proj\n"
            "  %v.8.h0 = lathe.requantize(%v.h0) : u8[1, 4, 1, 1]<0.2, 128> @ v_proj\n"
            "  %v.heads.h0 = aten.permute(%v.8.h0) {dims=[0, 2, 3, 1]} : u8[1, 1, 1, 4]<0.2, "
            "128>\n"
            "  %values.h0 = aten.cat(%v_cache_0.h0, %v.heads.h0) {dim=2} : u8[1, 1, 3, "
            "4]<0.2, 128>\n"
            "  %mixed.h0 = aten.matmul(%softmax.h0, %values.h0) : u16[1, 1, 1, 4]<0.005, 32768>\n"
            "  %q.h1 = aten.conv2d(%x, %q_proj.weight.h1) : u16[1, 4, 1, 1]<0.002, 30000> @ "
            "q_proj\n"
            "  %q.heads.h1 = aten.permute(%q.h1) {dims=[0, 2, 3, 1]} : u16[1, 1, 1, "
            "4]<0.002, 30000>\n"
            "  %k_cache_0.h1 = aten.slice(%k_cache_0) {dim=1, start=1, end=2} : u8[1, 1, 4, "
            "2]<0.1, 128>\n"
            "  %k.h1 = aten.conv2d(%x, %k_proj.weight.h1) : u16[1, 4, 1, 1]<0.003, 30000> @ "
            "k_proj\n"
            "  %k.8.h1 = lathe.requantize(%k.h1) : u8[1, 4, 1, 1]<0.1, 128> @ k_proj\n"
            "  %k.heads.h1 = aten.permute(%k.8.h1) {dims=[0, 2, 3, 1]} : u8[1, 1, 1, 4]<0.1, "
            "128>\n"
            "  %k.new.h1 = aten.transpose(%k.heads.h1) {dim0=2, dim1=3} : u8[1, 1, 4, "
            "1]<0.1, 128>\n"
            "  %keys.h1 = aten.cat(%k_cache_0.h1, %k.new.h1) {dim=3} : u8[1, 1, 4, 3]<0.1, 128>\n"
            "  %scores.h1 = aten.matmul(%q.heads.h1, %keys.h1) : u16[1, 1, 1, 3]<0.01, 32768>\n"
            "  %masked.h1 = aten.add(%scores.h1, %attention_mask) : u16[1, 1, 1, 3]<0.01, "
            "60000>\n"
            "  %softmax.h1 = aten.softmax(%masked.h1) {dim=-1} : u16[1, 1, 1, "
            "3]<1.5258789e-05, 0>\n"
            "  %v_cache_0.h1 = aten.slice(%v_cache_0) {dim=1, start=1, end=2} : u8[1, 1, 2, "
            "4]<0.2, 128>\n"
            "  %v.h1 = aten.conv2d(%x, %v_proj.weight.h1) : u16[1, 4, 1, 1]<0.004, 30000> @ "
            "v_proj\n"
            "  %v.8.h1 = lathe.requantize(%v.h1) : u8[1, 4, 1, 1]<0.2, 128> @ v_proj\n"
            "  %v.heads.h1 = aten.permute(%v.8.h1) {dims=[0, 2, 3, 1]} : u8[1, 1, 1, 4]<0.2, "
            "128>\n"
            "  %values.h1 = aten.cat(%v_cache_0.h1, %v.heads.h1) {dim=2} : u8[1, 1, 3, "
            "4]<0.2, 128>\n"
            "  %mixed.h1 = aten.matmul(%softmax.h1, %values.h1) : u16[1, 1, 1, 4]<0.005, 32768>\n"
            "  %cat = aten.cat(%mixed.h0, %mixed.h1) {dim=3} : u16[1, 1, 1, 8]<0.005, 32768>\n"
            "  %cat_1 = aten.cat(%k.new.h0, %k.new.h1) {dim=1} : u8[1, 2, 4, 1]<0.1, 128>\n"
            "  %cat_2 = aten.cat(%v.heads.h0, %v.heads.h1) {dim=1} : u8[1, 2, 1, 4]<0.2, 128>\n"
            "  %o.rows = aten.reshape(%cat) {sizes=[1, 1, 8, 1]} : u16[1, 1, 8, 1]<0.005, "
            "32768>\n"
            "  %o.channels = aten.permute(%o.rows) {dims=[0, 2, 3, 1]} : u16[1, 8, 1, "
            "1]<0.005, 32768> @ o_proj\n"
            "  %o = aten.conv2d(%o.channels, %o_proj.weight) : u16[1, 6, 1, 1]<0.006, 32768> "
            "@ o_proj\n"
            "  output y = %o\n"
            "  output k_new_0 = %cat_1\n"
            "  output v_new_0 = %cat_2\n");
}

struct Case {
  const char* name;
  LayerForm form;
};

const Case kCases[] = {
    {"one key-value head a query head", {.heads = 3, .kv_heads = 3}},
    {"grouped queries", {.heads = 4, .kv_heads = 2}},
    {"grouped queries with biases", {.heads = 6, .kv_heads = 2, .bias = true}},
    {"grouped queries with R3", {.heads = 4, .kv_heads = 2, .hadamard = true}},
    {"masked softmax", {.heads = 4, .kv_heads = 2, .masked_softmax = true}},
    {"no rotary positions", {.heads = 4, .kv_heads = 2, .rotary = false}},
    {"norms over all heads", {.heads = 4, .kv_heads = 2, .whole_norm = true}},
    {"one key-value head for all", {.heads = 4, .kv_heads = 1, .bias = true}},
};

TEST(mha_to_sha, IntegerResultsAreTheSameBits) {
  for (const Case& c : kCases) {
    Graph graph = made_up_integers(attention_layer(c.form));
    verify(graph, true);
    const auto before = evaluate(graph);
    mha_to_sha(graph);
    verify(graph, true);
    EXPECT_EQ(count(graph, c.form.masked_softmax ? Op::masked_softmax : Op::softmax), c.form.heads)
        << c.name;
    EXPECT_EQ(evaluate(graph), before) << c.name;
  }
}

TEST(mha_to_sha, FloatResultsAreTheSameBits) {
  for (const Case& c : kCases) {
    Graph graph = attention_layer(c.form);
    const auto before = evaluate(graph);
    mha_to_sha(graph);
    verify(graph);
    EXPECT_EQ(count(graph, c.form.masked_softmax ? Op::masked_softmax : Op::softmax), c.form.heads)
        << c.name;
    EXPECT_EQ(evaluate(graph), before) << c.name;
  }
}

TEST(mha_to_sha, KeyValueHeadsAreSharedAndNotRepeated) {
  Graph graph = attention_layer({.heads = 4, .kv_heads = 2});
  mha_to_sha(graph);
  EXPECT_EQ(count(graph, Op::expand), 0);
  EXPECT_EQ(count(graph, Op::conv2d), 4 + 2 + 2 + 1);  // queries, keys, values, output
  const auto second_operand = [&](const char* name) {
    return graph.value(graph.producer(graph.find(name))->inputs[1]).name;
  };
  EXPECT_EQ(second_operand("scores.h0"), "keys.all.h0");
  EXPECT_EQ(second_operand("scores.h1"), "keys.all.h0");
  EXPECT_EQ(second_operand("scores.h2"), "keys.all.h1");
  EXPECT_EQ(second_operand("mixed.h3"), "values.all.h1");
}

// Projections stay whole in front of the norms, and what a norm gives is cut.
TEST(mha_to_sha, HeadsThatANormMadeTogetherAreCutBehindIt) {
  Graph graph = attention_layer({.heads = 4, .kv_heads = 2, .whole_norm = true});
  mha_to_sha(graph);
  EXPECT_EQ(count(graph, Op::conv2d), 1 + 1 + 2 + 1);  // queries, keys, values, output
  EXPECT_EQ(count(graph, Op::rms_norm), 2);
  const Node& head = *graph.producer(graph.find("k.heads.h1"));
  EXPECT_EQ(head.op, Op::slice);
  EXPECT_EQ(graph.value(head.inputs[0]).name, "k.heads");
  EXPECT_EQ(head.attributes.integer("dim"), 1);
  EXPECT_EQ(head.attributes.integer("start"), 1);
}

TEST(mha_to_sha, OutputsKeepNamesShapesAndEncodings) {
  Graph graph = made_up_integers(attention_layer({}));
  const IoContract before = graph.io();
  mha_to_sha(graph);
  const IoContract after = graph.io();
  ASSERT_EQ(after.inputs.size(), before.inputs.size());
  ASSERT_EQ(after.outputs.size(), before.outputs.size());
  for (size_t i = 0; i < before.outputs.size(); ++i) {
    EXPECT_EQ(after.outputs[i].name, before.outputs[i].name);
    EXPECT_EQ(after.outputs[i].shape, before.outputs[i].shape);
    EXPECT_EQ(after.outputs[i].encoding, before.outputs[i].encoding);
  }
}

// Linears that became convolutions leave two reshapes in a row behind every projection. Those are
// not the form in which heads are recognised.
TEST(mha_to_sha, NeedsFusedReshapes) {
  Graph graph = attention_layer({.fused = false});
  mha_to_sha(graph);
  EXPECT_EQ(count(graph, Op::softmax), 1);
  fuse_consecutive_reshape(graph);
  mha_to_sha(graph);
  EXPECT_EQ(count(graph, Op::softmax), 4);
}

TEST(mha_to_sha, LeavesASoftmaxThatIsNoAttentionAlone) {
  const char* text =
      "graph decode ar=1 cl=3\n"
      "  input %x : f32[1, 2, 1, 4]\n"
      "  input %experts : f32[1, 2, 4, 4]\n"
      "  %softmax = aten.softmax(%x) {dim=-1} : f32[1, 2, 1, 4]\n"
      "  %matmul = aten.matmul(%softmax, %experts) : f32[1, 2, 1, 4]\n"
      "  %transpose = aten.transpose(%matmul) {dim0=1, dim1=2} : f32[1, 1, 2, 4]\n"
      "  %reshape = aten.reshape(%transpose) {sizes=[1, 1, 8]} : f32[1, 1, 8]\n"
      "  output y = %reshape\n";
  Graph graph = parse_graph(text);
  mha_to_sha(graph);
  EXPECT_EQ(print_graph(graph), text);
}

TEST(mha_to_sha, DoesTheSameInEveryRole) {
  Graph decode = attention_layer({.tokens = 1});
  Graph prefill = attention_layer({.tokens = 3});
  mha_to_sha(decode);
  mha_to_sha(prefill);
  ASSERT_EQ(decode.order(), prefill.order());
  for (const NodeId id : decode.order()) {
    EXPECT_EQ(decode.node(id).op, prefill.node(id).op);
    EXPECT_EQ(decode.node(id).inputs, prefill.node(id).inputs);
  }
}

}  // namespace
}  // namespace lathe
