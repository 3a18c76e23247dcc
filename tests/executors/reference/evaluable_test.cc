#include "executors/reference/evaluable.h"

#include <gtest/gtest.h>

#include <string>

#include "executors/reference/test_graph.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

void expect_refusal(const TestGraph& graph, const std::string& part) {
  testing::expect_error([&] { require_evaluable(graph.graph()); }, {part});
}

TEST(Evaluable, ConstantsNeedData) {
  expect_refusal(one_node("input %x : f32[1, 2]\nconst %w : f32[2, 2]\n", "aten.linear(%x, %w)"),
                 "w: a constant has no data");
}

TEST(Evaluable, ConstantsNeedAllTheirBytes) {
  TestGraph graph = one_node("input %x : u16[1, 2]<1.0, 0>\nconst %w : i8[2, 2]<per channel 0>\n",
                             "aten.linear(%x, %w) : u16[1, 2]<1.0, 0>");
  expect_refusal(TestGraph(graph).codes<int8_t>("w", {1, 2, 3}), "expected 4 bytes, found 3 bytes");
  expect_refusal(TestGraph(graph).codes<int8_t>("w", {1, 2, 3, 4}, Layout::packed),
                 "expected 72 bytes, found 4 bytes");
}

TEST(Evaluable, PackedWeightsAreForIntegerProducts) {
  TestGraph graph = one_node("const %w : i8[2, 2]<per channel 0>\n",
                             "aten.transpose(%w) {dim0=0, dim1=1} : i8[2, 2]<per channel 1>");
  graph.codes("w", std::vector<int8_t>(72), Layout::packed);
  expect_refusal(graph, "packed weights are for integer products only");
}

TEST(Evaluable, FourBitCodesArePackedWeights) {
  const std::string head =
      "input %x : u16[1, 32]<1.0, 0>\nconst %w : i4[2, 32]<per channel 0, blocks of ";
  const auto product = [&](const std::string& block) {
    return one_node(head + block + ">\n", "aten.linear(%x, %w) : u16[1, 2]<1.0, 0>");
  };
  const std::vector<int8_t> whole(4 * 64 + 64 + 2 * 4);
  require_evaluable(product("16").codes("w", whole, Layout::packed).graph());
  expect_refusal(product("16").codes("w", whole), "i4 is packed always");
  expect_refusal(product("16").codes("w", std::vector<int8_t>(100), Layout::packed),
                 "expected 328 bytes, found 100 bytes");
  expect_refusal(product("24").codes("w", whole, Layout::packed), "blocks");
  expect_refusal(one_node("input %x : i4[2]<1.0, 0>\n", "aten.alias(%x)"),
                 "no executor computes on this type");
}

TEST(Evaluable, EncodingsMustBeUsable) {
  const auto with = [](const std::string& encoding) {
    return one_node("input %x : u8[2]" + encoding + "\n", "aten.alias(%x)");
  };
  expect_refusal(with("<0.0, 3>"), "a scale is not a positive number");
  expect_refusal(with("<-1.0, 3>"), "a scale is not a positive number");
  expect_refusal(with("<nan, 3>"), "a scale is not a positive number");
  expect_refusal(with("<1.0, 256>"), "expected 0..255, found 256");
  TestGraph wrong_count = one_node("input %x : i8[2, 2]<per channel 0>\n", "aten.alias(%x)");
  expect_refusal(wrong_count.scales("x", {1.0f}), "expected 2, found 1");
}

TEST(Evaluable, OperatorsNeedTypesTheirRulesTake) {
  expect_refusal(one_node("input %x : i64[2]\n", "aten.silu(%x)"),
                 "aten.silu giving y: works on f32 or on codes with an encoding");
  expect_refusal(one_node("input %x : u16[2]\n", "aten.add(%x) {other=1}"), "works on f32");
  expect_refusal(one_node("input %x : f32[2]\ninput %b : i64[2]\n", "aten.add(%x, %b)"),
                 "found f32, i64 -> f32");
  expect_refusal(one_node("input %x : f32[2]\ninput %b : u8[2]\n", "aten.cat(%x, %b) {dim=0}"),
                 "moves elements of one type");
  expect_refusal(one_node("input %x : u16[2]<1.0, 0>\n", "aten.to(%x) {dtype=f32}"),
                 "codes cannot become another type");
  expect_refusal(one_node("input %x : f16[2]\n", "aten.alias(%x)"),
                 "no executor computes on this type");
}

TEST(Evaluable, NothingIsReadFromEmptyRows) {
  expect_refusal(one_node("input %x : f32[2, 0]\nconst %w : f32[3, 0]\n", "aten.linear(%x, %w)")
                     .constant("w", {}),
                 "the rows of the input are empty");
  expect_refusal(one_node("const %t : f32[0, 4]\ninput %i : i32[1]\n", "aten.embedding(%t, %i)")
                     .constant("t", {}),
                 "the table is empty");
  expect_refusal(one_node("input %a : f32[2]\ninput %b : f32[3]\n", "aten.copy_(%a, %b)"),
                 "the source has another shape");
}

}  // namespace
}  // namespace lathe
