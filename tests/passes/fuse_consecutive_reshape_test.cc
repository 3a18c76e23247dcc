#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::string after_pass(const char* text) {
  Graph graph = parse_graph(text);
  fuse_consecutive_reshape(graph);
  return print_graph(graph);
}

TEST(fuse_consecutive_reshape, CollapsesAChain) {
  EXPECT_EQ(after_pass(R"(
    graph prefill ar=2 cl=8
    input %x : f32[1, 2, 12, 1]
    %reshape = aten.reshape(%x) {sizes=[1, 2, 12]} @ self_attn.q_proj
    %view = aten.view(%reshape) {sizes=[1, 2, -1, 4]} @ self_attn
    %unsqueeze = aten.unsqueeze(%view) {dim=0} @ self_attn
    %neg = aten.neg(%unsqueeze)
    output y = %neg)"),
            "graph prefill ar=2 cl=8\n"
            "  input %x : f32[1, 2, 12, 1]\n"
            "  %reshape = aten.reshape(%x) {sizes=[1, 1, 2, 3, 4]} : f32[1, 1, 2, 3, 4] @ "
            "self_attn\n"
            "  %neg = aten.neg(%reshape) : f32[1, 1, 2, 3, 4]\n"
            "  output y = %neg\n");
}

TEST(fuse_consecutive_reshape, AChainBackToItsFirstShapeVanishes) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=8
    input %x : f32[1, 1, 12]
    %neg = aten.neg(%x)
    %reshape = aten.reshape(%neg) {sizes=[1, 1, 12, 1]}
    %view = aten.view(%reshape) {sizes=[1, 1, 12]}
    output y = %view)"),
            "graph decode ar=1 cl=8\n"
            "  input %x : f32[1, 1, 12]\n"
            "  %neg = aten.neg(%x) : f32[1, 1, 12]\n"
            "  output y = %neg\n");
}

TEST(fuse_consecutive_reshape, AShapeThatOthersReadStaysForThem) {
  EXPECT_EQ(after_pass(R"(
    graph prefill ar=2 cl=8
    input %x : f32[1, 2, 12]
    %middle = aten.view(%x) {sizes=[1, 24]}
    %last = aten.view(%middle) {sizes=[2, 12]}
    %neg = aten.neg(%last)
    output y = %neg
    output middle = %middle)"),
            "graph prefill ar=2 cl=8\n"
            "  input %x : f32[1, 2, 12]\n"
            "  %middle = aten.view(%x) {sizes=[1, 24]} : f32[1, 24]\n"
            "  %reshape = aten.reshape(%x) {sizes=[2, 12]} : f32[2, 12]\n"
            "  %neg = aten.neg(%reshape) : f32[2, 12]\n"
            "  output y = %neg\n"
            "  output middle = %middle\n");
}

TEST(fuse_consecutive_reshape, StopsAtAChangeOfEncoding) {
  const char* text =
      "graph prefill ar=2 cl=8\n"
      "  input %x : u16[1, 2, 12]<0.5, 100>\n"
      "  %view = aten.view(%x) {sizes=[1, 24]} : u16[1, 24]<0.5, 100>\n"
      "  %requantize = lathe.requantize(%view) : u8[1, 24]<1, 128>\n"
      "  %view_1 = aten.view(%requantize) {sizes=[2, 12]} : u8[2, 12]<1, 128>\n"
      "  output y = %view_1\n";
  EXPECT_EQ(after_pass(text), text);
}

TEST(fuse_consecutive_reshape, TheNewNodeHasTheEncodingOfTheLast) {
  EXPECT_EQ(after_pass(R"(
    graph prefill ar=2 cl=8
    input %x : u8[1, 2, 12]<0.5, 128>
    %view = aten.view(%x) {sizes=[1, 24]} : u8[1, 24]<0.5, 128>
    %view_1 = aten.view(%view) {sizes=[2, 12]} : u8[2, 12]<0.5, 128>
    output y = %view_1)"),
            "graph prefill ar=2 cl=8\n"
            "  input %x : u8[1, 2, 12]<0.5, 128>\n"
            "  %reshape = aten.reshape(%x) {sizes=[2, 12]} : u8[2, 12]<0.5, 128>\n"
            "  output y = %reshape\n");
}

// A single head of dimension 8: what changes the shape of two tokens changes nothing for one. The
// graphs of both roles must keep the same nodes.
TEST(fuse_consecutive_reshape, RolesStayAlike) {
  for (const int tokens : {1, 2}) {
    Graph graph(tokens == 1 ? GraphRole::decode : GraphRole::prefill, tokens, 8);
    const ValueId x = graph.add_input("x", DType::f32, {1, 1, tokens, 8});
    const ValueId y = graph.append(
        {.op = Op::reshape, .inputs = {x}, .attributes = {{"sizes", Shape{1, tokens, 1, 8}}}});
    graph.add_output("y", y);
    fuse_consecutive_reshape(graph);
    EXPECT_EQ(graph.order().size(), 1) << tokens << " tokens";
  }
}

}  // namespace
}  // namespace lathe
