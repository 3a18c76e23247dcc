#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/after_pass.h"
#include "support/error.h"

namespace lathe {
namespace {

using test::after_pass;

TEST(annotate, ValuesThatAreOnlyMovedShareASpec) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=4
  input %tokens : i32[1, 1]
  const %embed : f32[8, 4]
  const %w : f32[4, 4]
  %x = aten.embedding(%embed, %tokens)
  %y = aten.linear(%x, %w)
  %view = aten.view(%y) {sizes=[2, 2]}
  %p = aten.softmax(%view) {dim=-1}
  output p = %p
)",
                       annotate),
            R"(graph decode ar=1 cl=4
  input %tokens : i32[1, 1]
  const %embed : f32[8, 4] ~u16
  const %w : f32[4, 4]
  %x = aten.embedding(%embed, %tokens) : f32[1, 1, 4] ~u16
  %y = aten.linear(%x, %w) : f32[1, 1, 4] ~u16
  %view = aten.view(%y) {sizes=[2, 2]} : f32[2, 2] ~u16
  %p = aten.softmax(%view) {dim=-1} : f32[2, 2] ~u16:unit
  output p = %p
)");
}

TEST(annotate, MasksAndRotaryTablesHaveTheirOwn) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=4
  input %attention_mask : f32[1, 1, 1, 4]
  input %position : i32[1, 1]
  input %x : f32[1, 1, 1, 4]
  const %cos_table : f32[4, 4]
  %rows = aten.embedding(%cos_table, %position)
  %cos = aten.unsqueeze(%rows) {dim=1}
  %turned = aten.mul(%x, %cos)
  %masked = aten.add(%turned, %attention_mask)
  output y = %masked
)",
                       annotate, {.activation = DType::u8}),
            R"(graph decode ar=1 cl=4
  input %attention_mask : f32[1, 1, 1, 4] ~u16:mask
  input %position : i32[1, 1]
  input %x : f32[1, 1, 1, 4] ~u8
  const %cos_table : f32[4, 4] ~u8:rotary
  %rows = aten.embedding(%cos_table, %position) : f32[1, 1, 4] ~u8:rotary
  %cos = aten.unsqueeze(%rows) {dim=1} : f32[1, 1, 1, 4] ~u8:rotary
  %turned = aten.mul(%x, %cos) : f32[1, 1, 1, 4] ~u8
  %masked = aten.add(%turned, %attention_mask) : f32[1, 1, 1, 4] ~u8
  output y = %masked
)");
}

TEST(annotate, AMaskThatTheGraphComputesIsAMask) {
  EXPECT_THAT(after_pass(R"(graph decode ar=1 cl=2
  input %cache_position : i64[1]
  input %x : f32[1, 2]
  %columns = aten.arange() {end=2}
  %visible = aten.le(%columns, %cache_position)
  %zero = aten.zeros() {sizes=[]}
  %mask = aten.where(%visible, %zero) {other=-3.4028234663852886e+38}
  %masked = aten.add(%x, %mask)
  output y = %masked
)",
                         annotate),
              testing::HasSubstr("aten.where(%visible, %zero) {other=-3.4028234663852886e+38} : "
                                 "f32[2] ~u16:mask"));
}

TEST(annotate, ProbabilitiesThatJoinOtherNumbersAreReadAsThose) {
  EXPECT_THAT(after_pass(R"(graph decode ar=1 cl=1
  input %x : f32[1, 2]
  %p = aten.softmax(%x) {dim=-1}
  %both = aten.cat(%p, %x) {dim=1}
  output out = %both
)",
                         annotate),
              testing::HasSubstr("%p = aten.softmax(%x) {dim=-1} : f32[1, 2] ~u16:unit>u16\n"));
}

TEST(annotate, RefusesAMaskJoinedWithOtherValues) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=1
  input %attention_mask : f32[1, 2]
  input %x : f32[1, 2]
  %both = aten.cat(%attention_mask, %x) {dim=1}
  output out = %both
)");
  try {
    annotate(graph, {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("attention_mask"));
  }
}

}  // namespace
}  // namespace lathe
