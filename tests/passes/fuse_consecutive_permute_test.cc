#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/evaluate.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::string after_pass(const char* text) {
  Graph graph = parse_graph(text);
  fuse_consecutive_permute(graph);
  return print_graph(graph);
}

TEST(fuse_consecutive_permute, CollapsesAChain) {
  EXPECT_EQ(after_pass(R"(
    graph prefill ar=2 cl=8
    input %x : u8[1, 8, 3, 2]<0.5, 128>
    %permute = aten.permute(%x) {dims=[0, 2, 3, 1]} : u8[1, 3, 2, 8]<0.5, 128> @ self_attn
    %transpose = aten.transpose(%permute) {dim0=2, dim1=-1} : u8[1, 3, 8, 2]<0.5, 128> @ self_attn
    output y = %transpose)"),
            "graph prefill ar=2 cl=8\n"
            "  input %x : u8[1, 8, 3, 2]<0.5, 128>\n"
            "  %permute = aten.permute(%x) {dims=[0, 2, 1, 3]} : u8[1, 3, 8, 2]<0.5, 128> @ "
            "self_attn\n"
            "  output y = %permute\n");
}

TEST(fuse_consecutive_permute, MovesTheSameNumbers) {
  Graph graph = parse_graph(R"(
    graph prefill ar=2 cl=8
    input %x : f32[2, 3, 4, 5]
    %permute = aten.permute(%x) {dims=[3, 0, 2, 1]}
    %transpose = aten.transpose(%permute) {dim0=0, dim1=2}
    %permute_1 = aten.permute(%transpose) {dims=[3, 1, 0, 2]}
    output y = %permute_1)");
  const auto before = evaluate(graph);
  fuse_consecutive_permute(graph);
  EXPECT_EQ(graph.order().size(), 1);
  EXPECT_EQ(evaluate(graph), before);
}

TEST(fuse_consecutive_permute, OrdersThatUndoEachOtherVanish) {
  EXPECT_EQ(after_pass(R"(
    graph prefill ar=2 cl=8
    input %x : f32[1, 2, 8, 1]
    %permute = aten.permute(%x) {dims=[0, 2, 3, 1]}
    %permute_1 = aten.permute(%permute) {dims=[0, 3, 1, 2]}
    %neg = aten.neg(%permute_1)
    output y = %neg)"),
            "graph prefill ar=2 cl=8\n"
            "  input %x : f32[1, 2, 8, 1]\n"
            "  %neg = aten.neg(%x) : f32[1, 2, 8, 1]\n"
            "  output y = %neg\n");
}

TEST(fuse_consecutive_permute, AnOrderThatOthersReadStaysForThem) {
  EXPECT_EQ(after_pass(R"(
    graph prefill ar=2 cl=8
    input %x : f32[1, 2, 8]
    %middle = aten.transpose(%x) {dim0=1, dim1=2}
    %back = aten.transpose(%middle) {dim0=1, dim1=2}
    %neg = aten.neg(%back)
    output y = %neg
    output middle = %middle)"),
            "graph prefill ar=2 cl=8\n"
            "  input %x : f32[1, 2, 8]\n"
            "  %middle = aten.transpose(%x) {dim0=1, dim1=2} : f32[1, 8, 2]\n"
            "  %neg = aten.neg(%x) : f32[1, 2, 8]\n"
            "  output y = %neg\n"
            "  output middle = %middle\n");
}

TEST(fuse_consecutive_permute, LeavesASingleOneAlone) {
  const char* text =
      "graph prefill ar=2 cl=8\n"
      "  input %x : f32[1, 2, 8]\n"
      "  %transpose = aten.transpose(%x) {dim0=1, dim1=2} : f32[1, 8, 2]\n"
      "  output y = %transpose\n";
  EXPECT_EQ(after_pass(text), text);
}

}  // namespace
}  // namespace lathe
