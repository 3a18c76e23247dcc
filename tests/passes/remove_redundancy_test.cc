#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::string after_pass(const char* text) {
  Graph graph = parse_graph(text);
  remove_redundancy(graph);
  return print_graph(graph);
}

TEST(remove_redundancy, DropsWhatChangesNothing) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 4]
    %to = aten.to(%x) {dtype=f32}
    %alias = aten.alias(%to)
    %dropout = aten.dropout(%alias)
    %mul = aten.mul(%dropout) {other=1.0}
    %view = aten.view(%mul) {sizes=[1, -1]}
    %expand = aten.expand(%view) {sizes=[1, 4]}
    %neg = aten.neg(%expand)
    output y = %neg)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 4]\n"
            "  %neg = aten.neg(%x) : f32[1, 4]\n"
            "  output y = %neg\n");
}

TEST(remove_redundancy, ACopyInPlaceBecomesItsSource) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %length : i64[]
    input %position : i64[1]
    %select = aten.select(%position) {dim=0, index=0}
    %copy_ = aten.copy_(%length, %select)
    output y = %copy_)"),
            "graph decode ar=1 cl=1\n"
            "  input %position : i64[1]\n"
            "  %select = aten.select(%position) {dim=0, index=0} : i64[]\n"
            "  output y = %select\n");
}

TEST(remove_redundancy, KeepsWhatChangesSomething) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : i64[1, 4]\n"
      "  %to = aten.to(%x) {dtype=f32} : f32[1, 4]\n"
      "  %mul = aten.mul(%to) {other=2.0} : f32[1, 4]\n"
      "  %view = aten.view(%mul) {sizes=[2, 2]} : f32[2, 2]\n"
      "  output y = %view\n";
  EXPECT_EQ(after_pass(text), text);
}

}  // namespace
}  // namespace lathe
