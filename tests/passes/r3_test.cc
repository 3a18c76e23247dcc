#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/evaluate.h"
#include "passes/pass.h"
#include "support/error.h"

namespace lathe {
namespace {

const PassOptions kRotate{.r3 = true};

// 4 query heads over 2 key-value heads, 2 tokens behind a past of 4.
std::string attention(int head_dim) {
  std::string text = R"(
    graph prefill ar=2 cl=6
    input %q : f32[1, 4, 2, $]
    input %k : f32[1, 2, 2, $]
    input %v : f32[1, 4, 6, $]
    input %attention_mask : f32[1, 1, 2, 6]
    input %k_cache_0 : f32[1, 2, $, 4]
    %kt = aten.transpose(%k) {dim0=2, dim1=3} @ self_attn
    %cat = aten.cat(%k_cache_0, %kt) {dim=3} @ self_attn
    %unsqueeze = aten.unsqueeze(%cat) {dim=2} @ self_attn
    %expand = aten.expand(%unsqueeze) {sizes=[1, 2, 2, $, 6]} @ self_attn
    %reshape = aten.reshape(%expand) {sizes=[1, 4, $, 6]} @ self_attn
    %scores = aten.matmul(%q, %reshape) @ self_attn
    %mul = aten.mul(%scores) {other=0.5} @ self_attn
    %add = aten.add(%mul, %attention_mask) @ self_attn
    %softmax = aten.softmax(%add) {dim=-1} @ self_attn
    %mix = aten.matmul(%softmax, %v) @ self_attn
    output y = %mix
    output k_new_0 = %kt)";
  for (size_t at = text.find('$'); at != std::string::npos; at = text.find('$')) {
    text.replace(at, 1, std::to_string(head_dim));
  }
  return text;
}

TEST(r3, RotatesQueriesAndKeysInFrontOfTheirTranspose) {
  Graph graph = parse_graph(attention(8));
  r3(graph, kRotate);
  verify(graph);
  EXPECT_EQ(
      print_graph(graph),
      "graph prefill ar=2 cl=6\n"
      "  input %q : f32[1, 4, 2, 8]\n"
      "  input %k : f32[1, 2, 2, 8]\n"
      "  input %v : f32[1, 4, 6, 8]\n"
      "  input %attention_mask : f32[1, 1, 2, 6]\n"
      "  input %k_cache_0 : f32[1, 2, 8, 4]\n"
      "  %hadamard = lathe.hadamard(%k) : f32[1, 2, 2, 8] @ self_attn\n"
      "  %kt = aten.transpose(%hadamard) {dim0=2, dim1=3} : f32[1, 2, 8, 2] @ self_attn\n"
      "  %cat = aten.cat(%k_cache_0, %kt) {dim=3} : f32[1, 2, 8, 6] @ self_attn\n"
      "  %unsqueeze = aten.unsqueeze(%cat) {dim=2} : f32[1, 2, 1, 8, 6] @ self_attn\n"
      "  %expand = aten.expand(%unsqueeze) {sizes=[1, 2, 2, 8, 6]} : f32[1, 2, 2, 8, 6] @ "
      "self_attn\n"
      "  %reshape = aten.reshape(%expand) {sizes=[1, 4, 8, 6]} : f32[1, 4, 8, 6] @ self_attn\n"
      "  %hadamard_1 = lathe.hadamard(%q) : f32[1, 4, 2, 8] @ self_attn\n"
      "  %scores = aten.matmul(%hadamard_1, %reshape) : f32[1, 4, 2, 6] @ self_attn\n"
      "  %mul = aten.mul(%scores) {other=0.5} : f32[1, 4, 2, 6] @ self_attn\n"
      "  %add = aten.add(%mul, %attention_mask) : f32[1, 4, 2, 6] @ self_attn\n"
      "  %softmax = aten.softmax(%add) {dim=-1} : f32[1, 4, 2, 6] @ self_attn\n"
      "  %mix = aten.matmul(%softmax, %v) : f32[1, 4, 2, 8] @ self_attn\n"
      "  output y = %mix\n"
      "  output k_new_0 = %kt\n");
}

TEST(r3, DoesNothingWhereItIsNotAskedFor) {
  Graph graph = parse_graph(attention(8));
  const std::string before = print_graph(graph);
  r3(graph, {});
  EXPECT_EQ(print_graph(graph), before);
}

/// Keys [1, heads, D, tokens] in memory order.
std::vector<float> lengths(const std::vector<float>& keys, size_t head_dim, size_t tokens) {
  std::vector<float> squares(keys.size() / head_dim, 0.0f);
  for (size_t i = 0; i < keys.size(); ++i) {
    squares[i / (head_dim * tokens) * tokens + i % tokens] += keys[i] * keys[i];
  }
  return squares;
}

// A power of two, and 12 = 3 * 4 with its matrix. The past that a rotated graph reads is rotated,
// so this one begins with an empty past.
TEST(r3, ProductsStayAndKeysKeepTheirLength) {
  for (const int head_dim : {8, 12}) {
    std::string text = attention(head_dim);
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
             {"cl=6", "cl=2"}, {", 6]", ", 2]"}, {", 6, ", ", 2, "}, {", 4]", ", 0]"}}) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
        text.replace(at, from.size(), to);
      }
    }
    Graph graph = parse_graph(text);
    const auto before = evaluate(graph);
    r3(graph, kRotate);
    verify(graph);
    EXPECT_EQ(count(graph, Op::linear), head_dim == 12 ? 2 : 0);
    const auto after = evaluate(graph);
    const std::vector<float> y = floats_of(before.at("y"));
    const std::vector<float> y_rotated = floats_of(after.at("y"));
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y_rotated[i], y[i], 1e-4f) << i;
    EXPECT_NE(after.at("k_new_0"), before.at("k_new_0"));
    const auto width = static_cast<size_t>(head_dim);
    const std::vector<float> length = lengths(floats_of(before.at("k_new_0")), width, 2);
    const std::vector<float> rotated = lengths(floats_of(after.at("k_new_0")), width, 2);
    for (size_t i = 0; i < length.size(); ++i) EXPECT_NEAR(rotated[i], length[i], 1e-4f) << i;
  }
}

// Whole caches, written in place: what is written is rotated.
TEST(r3, FindsKeysBehindACacheThatIsUpdatedInPlace) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=6
    input %q : f32[1, 2, 1, 8]
    input %k : f32[1, 2, 1, 8]
    input %v : f32[1, 2, 6, 8]
    input %keys : f32[1, 2, 6, 8]
    input %slots : i64[1]
    %index_copy_ = aten.index_copy_(%keys, %slots, %k) {dim=2} @ self_attn
    %transpose = aten.transpose(%index_copy_) {dim0=2, dim1=3} @ self_attn
    %scores = aten.matmul(%q, %transpose) @ self_attn
    %softmax = aten.softmax(%scores) {dim=-1} @ self_attn
    %mix = aten.matmul(%softmax, %v) @ self_attn
    output y = %mix)");
  r3(graph, kRotate);
  verify(graph);
  const Node& update = *graph.producer(graph.find("index_copy_"));
  EXPECT_EQ(graph.producer(update.inputs[2])->op, Op::hadamard);
  EXPECT_EQ(count(graph, Op::hadamard), 2);
}

TEST(r3, RefusesAnAttentionOfAnotherShape) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=6
    input %q : f32[1, 2, 1, 8]
    input %keys : f32[1, 2, 8, 6]
    input %v : f32[1, 2, 6, 8]
    %scores = aten.matmul(%q, %keys) @ layers.3.self_attn
    %softmax = aten.softmax(%scores) {dim=-1} @ layers.3.self_attn
    %mix = aten.matmul(%softmax, %v) @ layers.3.self_attn
    output y = %mix)");
  try {
    r3(graph, kRotate);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("layers.3.self_attn"));
  }
}

}  // namespace
}  // namespace lathe
