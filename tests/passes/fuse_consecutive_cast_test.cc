#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/evaluate.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::string after_pass(const char* text) {
  Graph graph = parse_graph(text);
  fuse_consecutive_cast(graph);
  return print_graph(graph);
}

TEST(fuse_consecutive_cast, LeavesOutATypeThatHoldsAllNumbers) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : i32[4]
    %to = aten.to(%x) {dtype=i64}
    %to_1 = aten.to(%to) {dtype=f32}
    output y = %to_1)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : i32[4]\n"
            "  %to_1 = aten.to(%x) {dtype=f32} : f32[4]\n"
            "  output y = %to_1\n");
}

TEST(fuse_consecutive_cast, AWayBackToTheFirstTypeVanishes) {
  EXPECT_EQ(after_pass(R"(
    graph decode ar=1 cl=1
    input %x : i32[4]
    %to = aten.to(%x) {dtype=i64}
    %to_1 = aten.to(%to) {dtype=i32}
    %add = aten.add(%to_1) {other=1}
    output y = %add)"),
            "graph decode ar=1 cl=1\n"
            "  input %x : i32[4]\n"
            "  %add = aten.add(%x) {other=1} : i32[4]\n"
            "  output y = %add\n");
}

TEST(fuse_consecutive_cast, KeepsATypeThatLosesNumbers) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : i64[4]\n"
      "  %to = aten.to(%x) {dtype=f32} : f32[4]\n"
      "  %to_1 = aten.to(%to) {dtype=i64} : i64[4]\n"
      "  output y = %to_1\n";
  EXPECT_EQ(after_pass(text), text);
}

// 0.015 is two steps of 0.0075, and 256 codes two steps apart fit into 16 bits.
TEST(fuse_consecutive_cast, LeavesOutAnEncodingThatHoldsAllNumbers) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : u8[64]<0.015, 128>
    %wide = lathe.requantize(%x) : u16[64]<0.0075, 30000>
    %other = lathe.requantize(%wide) : u16[64]<0.0003, 20000>
    %back = lathe.requantize(%wide) : u8[64]<0.015, 128>
    output other = %other
    output back = %back)");
  const auto before = evaluate(graph);
  fuse_consecutive_cast(graph);
  EXPECT_EQ(print_graph(graph),
            "graph decode ar=1 cl=1\n"
            "  input %x : u8[64]<0.015, 128>\n"
            "  %other = lathe.requantize(%x) : u16[64]<0.0003, 20000>\n"
            "  output other = %other\n"
            "  output back = %x\n");
  const auto after = evaluate(graph);
  EXPECT_EQ(after, before);
}

TEST(fuse_consecutive_cast, KeepsRoundingToFewerBits) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : u16[4]<0.001, 32768>\n"
      "  %requantize = lathe.requantize(%x) : u8[4]<0.25, 128>\n"
      "  %requantize_1 = lathe.requantize(%requantize) : u16[4]<0.001, 32768>\n"
      "  output y = %requantize_1\n";
  EXPECT_EQ(after_pass(text), text);
}

TEST(fuse_consecutive_cast, KeepsAnEncodingThatClampsOrFallsBetween) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : u8[4]<0.5, 128>\n"
      "  %clamped = lathe.requantize(%x) : u16[4]<0.0009765625, 0>\n"
      "  %y = lathe.requantize(%clamped) : u8[4]<0.5, 128>\n"
      "  %between = lathe.requantize(%x) : u16[4]<0.3, 32768>\n"
      "  %z = lathe.requantize(%between) : u8[4]<0.5, 128>\n"
      "  output y = %y\n"
      "  output z = %z\n";
  EXPECT_EQ(after_pass(text), text);
}

TEST(fuse_consecutive_cast, KeepsWhatCalibrationHasStillToGiveScales) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : f32[4] ~u16\n"
      "  %requantize = lathe.requantize(%x) : f32[4] ~u8:symmetric\n"
      "  %requantize_1 = lathe.requantize(%requantize) : f32[4] ~u16\n"
      "  output y = %requantize_1\n";
  EXPECT_EQ(after_pass(text), text);
}

}  // namespace
}  // namespace lathe
