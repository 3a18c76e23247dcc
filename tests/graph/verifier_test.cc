#include "graph/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/fixed_encodings.h"
#include "graph/text.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::HasSubstr;

void expect_fault(const Graph& graph, bool integer, const char* fault) {
  try {
    verify(graph, integer);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(fault));
  }
}

TEST(Verifier, AcceptsAnIntegerGraph) {
  verify(parse_graph(R"(
    graph decode ar=1 cl=4
    input %k_cache_0 : u8[1, 1, 2, 3]<0.5, 128>
    input %x : u16[1, 1, 2, 1]<0.1, 10>
    %requantize = lathe.requantize(%x) : u8[1, 1, 2, 1]<0.5, 128>
    %cat = aten.cat(%k_cache_0, %requantize) {dim=3} : u8[1, 1, 2, 4]<0.5, 128>
    output k_new_0 = %requantize
    output all = %cat)"),
         /*integer=*/true);
}

TEST(Verifier, MovedCodesKeepTheirEncoding) {
  expect_fault(parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : u16[4]<0.5, 3>
    %view = aten.view(%x) {sizes=[2, 2]} : u16[2, 2]<0.25, 3>
    output y = %view)"),
               true, "another encoding than the output");
}

TEST(Verifier, CacheAndNewPairShareOneEncoding) {
  expect_fault(parse_graph(R"(
    graph decode ar=1 cl=4
    input %v_cache_0 : u8[1, 1, 3, 2]<0.5, 128>
    input %x : u16[1, 1, 1, 2]<0.1, 10>
    %requantize = lathe.requantize(%x) : u8[1, 1, 1, 2]<0.25, 128>
    output v_new_0 = %requantize
    output past = %v_cache_0)"),
               true, "v_cache_0 and v_new_0 differ");
}

TEST(Verifier, SoftmaxHasItsFixedEncoding) {
  expect_fault(parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : u16[4]<0.5, 3>
    %softmax = aten.softmax(%x) {dim=-1} : u16[4]<0.5, 0>
    output y = %softmax)"),
               true, "the encoding is fixed");
}

TEST(Verifier, MaskHasItsFixedEncoding) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=4
    input %attention_mask : u16[1, 1, 1, 4]<0.5, 3>
    %neg = aten.neg(%attention_mask) : u16[1, 1, 1, 4]<0.5, 3>
    output y = %neg)");
  expect_fault(graph, true, "attention_mask");
  graph.set_value_type(graph.find("attention_mask"), DType::u16, attention_mask_encoding());
  verify(graph, true);
}

TEST(Verifier, NoFloatIsLeftInAnIntegerGraph) {
  const Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[4]
    %neg = aten.neg(%x)
    output y = %neg)");
  verify(graph);
  expect_fault(graph, true, "float");
}

TEST(Verifier, ValuesAreDefinedBeforeTheyAreUsed) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[4]
    %neg = aten.neg(%x)
    %cos = aten.cos(%neg)
    output y = %neg)");
  graph.set_inputs(graph.value(graph.find("neg")).producer, {graph.find("cos")});
  expect_fault(graph, false, "used before it is defined");
}

}  // namespace
}  // namespace lathe
