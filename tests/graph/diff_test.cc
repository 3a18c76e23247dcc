#include "graph/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "graph/text.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

/// A gated product between two projections: enough for everything that two graphs may differ in.
constexpr const char* kGraph = R"(
    graph decode ar=1 cl=8
    input %x : u16[1, 1, 4]<0.5, 7>
    input %mask : u16[1, 1, 8]<0.25, 65535>
    const %w : i8[8, 4]<per channel 0>
    const %v : i8[8, 4]<per channel 0>
    %up = aten.linear(%x, %w) : u16[1, 1, 8]<0.1, 3> @ mlp.up_proj
    %gate = aten.linear(%x, %v) : u16[1, 1, 8]<0.2, 3> @ mlp.gate_proj
    %silu = aten.silu(%gate) : u16[1, 1, 8]<0.3, 3> @ mlp
    %mul = aten.mul(%silu, %up) : u16[1, 1, 8]<0.4, 3> @ mlp
    %add = aten.add(%mul, %mask) : u16[1, 1, 8]<0.5, 3> @ mlp
    %slice = aten.slice(%add) {dim=2, start=0, end=4} : u16[1, 1, 4]<0.5, 3> @ head
    %t = aten.transpose(%slice) {dim0=1, dim1=2} : u16[1, 4, 1]<0.5, 3> @ head
    %r = aten.reshape(%t) {sizes=[1, 4]} : u16[1, 4]<0.5, 3> @ head
    output logits = %r
    output up = %up
)";

/// kGraph with one piece of its text replaced, wherever it occurs.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kGraph;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

GraphDiff compare(const std::string& first, const std::string& second) {
  return diff(parse_graph(first), parse_graph(second));
}

void expect_isomorphic(const std::string& first, const std::string& second) {
  const GraphDiff result = compare(first, second);
  EXPECT_EQ(result.relation, GraphRelation::isomorphic)
      << result.difference.value_or(GraphDifference{}).what;
  EXPECT_FALSE(result.difference);
  EXPECT_THAT(result.operators, IsEmpty());
}

/// Expects graphs of different functions, and gives the difference.
GraphDifference difference(const std::string& first, const std::string& second) {
  const GraphDiff result = compare(first, second);
  EXPECT_EQ(result.relation, GraphRelation::different);
  return result.difference.value_or(GraphDifference{});
}

TEST(Diff, AGraphIsIsomorphicToItself) { expect_isomorphic(kGraph, kGraph); }

TEST(Diff, NamesOrderAndModulesDoNotMatter) {
  expect_isomorphic(kGraph, R"(
    graph decode ar=1 cl=8
    input %mask : u16[1, 1, 8]<0.25, 65535>
    input %x : u16[1, 1, 4]<0.5, 7>
    const %gate.weight : i8[8, 4]<per channel 0>
    const %up.weight : i8[8, 4]<per channel 0>
    %a = aten.linear(%x, %gate.weight) : u16[1, 1, 8]<0.2, 3> @ layers.0.w1
    %b = aten.silu(%a) : u16[1, 1, 8]<0.3, 3>
    %c = aten.linear(%x, %up.weight) : u16[1, 1, 8]<0.1, 3> @ layers.0.w3
    %d = aten.mul(%b, %c) : u16[1, 1, 8]<0.4, 3>
    %e = aten.add(%d, %mask) : u16[1, 1, 8]<0.5, 3>
    %f = aten.slice(%e) {dim=2, start=0, end=4} : u16[1, 1, 4]<0.5, 3>
    %g = aten.transpose(%f) {dim0=1, dim1=2} : u16[1, 4, 1]<0.5, 3>
    %h = aten.reshape(%g) {sizes=[1, 4]} : u16[1, 4]<0.5, 3>
    output up = %c
    output logits = %h
)");
}

TEST(Diff, SumsAndProductsTakeTheirOperandsInEitherOrder) {
  expect_isomorphic(kGraph, with("aten.mul(%silu, %up)", "aten.mul(%up, %silu)"));
  expect_isomorphic(kGraph, with("aten.add(%mul, %mask)", "aten.add(%mask, %mul)"));
}

TEST(Diff, OperandsOfADifferenceHaveAnOrder) {
  const std::string first = with("aten.add(%mul, %mask)", "aten.sub(%mul, %mask)");
  const std::string second = with("aten.add(%mul, %mask)", "aten.sub(%mask, %mul)");
  EXPECT_EQ(difference(first, second).what, "order of the operands");
}

TEST(Diff, AttributesCountByTheirMeaning) {
  expect_isomorphic(kGraph, with("{dim=2, start=0, end=4}", "{start=0, dim=-1, end=4}"));
  expect_isomorphic(kGraph, with("{dim0=1, dim1=2}", "{dim0=-1, dim1=-2}"));
  expect_isomorphic(kGraph, with("{sizes=[1, 4]}", "{sizes=[1, -1]}"));
  const std::string whole = with("start=0, end=4", "start=4, end=8");
  expect_isomorphic(whole, with("start=0, end=4", "start=4, end=9223372036854775807"));

  constexpr const char* kUnsqueeze = R"(
    graph decode ar=1 cl=1
    input %x : f32[2, 3]
    %u = aten.unsqueeze(%x) {dim=2}
    %m = aten.mul(%u) {other=2}
    output y = %m)";
  expect_isomorphic(kUnsqueeze, R"(
    graph decode ar=1 cl=1
    input %x : f32[2, 3]
    %u = aten.unsqueeze(%x) {dim=-1}
    %m = aten.mul(%u) {other=2.0}
    output y = %m)");
}

TEST(Diff, NamesTheAttributeThatDiffers) {
  const GraphDifference found = difference(kGraph, with("start=0, end=4", "start=4, end=8"));
  EXPECT_EQ(found.what, "attribute start: 0 and 4");
  EXPECT_EQ(found.output, "logits");
  EXPECT_THAT(found.path, ElementsAre("aten.reshape @ head", "aten.transpose @ head"));
  EXPECT_EQ(found.module, "head");
  EXPECT_EQ(found.first,
            "%slice = aten.slice(%add) {dim=2, start=0, end=4} : u16[1, 1, 4]<0.5, 3> @ head");
  EXPECT_EQ(found.second,
            "%slice = aten.slice(%add) {dim=2, start=4, end=8} : u16[1, 1, 4]<0.5, 3> @ head");
}

TEST(Diff, NamesTheOperatorThatDiffers) {
  EXPECT_EQ(difference(kGraph, with("aten.silu", "aten.neg")).what,
            "operator: aten.silu and aten.neg");
}

TEST(Diff, NamesTheFirstEncodingThatDiffersNotThoseBehindIt) {
  const GraphDifference found = difference(kGraph, with("<0.5, 3>", "<0.5, 4>"));
  EXPECT_EQ(found.what, "encoding: u16 s=0.5 zp=3 and u16 s=0.5 zp=4");
  EXPECT_THAT(found.first, StartsWith("%add = "));
}

TEST(Diff, ComparesScalesToTheLastBit) {
  EXPECT_THAT(difference(kGraph, with("<0.3, 3>", "<0.30000004, 3>")).what,
              StartsWith("encoding: u16 s=0.3 zp=3 and u16 s=0.30000"));
  Graph first = parse_graph(kGraph);
  Graph second = parse_graph(kGraph);
  Encoding encoding = *second.value(second.find("v")).encoding;
  encoding.scale[5] = 1.5f;
  second.set_value_type(second.find("v"), DType::i8, encoding);
  const GraphDiff result = diff(first, second);
  EXPECT_EQ(result.relation, GraphRelation::different);
  EXPECT_EQ(result.difference->what, "scale of channel 5: 1 and 1.5");
  EXPECT_EQ(result.difference->first, "const %v : i8[8, 4]<per channel 0>");
}

TEST(Diff, ComparesWhatAnnotatedValuesWillBe) {
  constexpr const char* kAnnotated = R"(
    graph decode ar=1 cl=1
    input %x : f32[4] ~u16
    %y = aten.neg(%x) : f32[4] ~u16>u8:symmetric
    output y = %y)";
  constexpr const char* kOther = R"(
    graph decode ar=1 cl=1
    input %x : f32[4] ~u16
    %y = aten.neg(%x) : f32[4] ~u16
    output y = %y)";
  expect_isomorphic(kAnnotated, kAnnotated);
  EXPECT_EQ(difference(kAnnotated, kOther).what, "read as: u8:symmetric and none");
}

TEST(Diff, ComparesConstantsByTheirDataWhereBothHaveIt) {
  const auto graph_with = [](std::string name, std::vector<float> numbers) {
    Graph graph = parse_graph(R"(
      graph decode ar=1 cl=1
      input %x : f32[2]
      const %w : f32[2]
      %y = aten.mul(%x, %w)
      output y = %y)");
    graph.set_constant(graph.find("w"), float_constant(std::move(name), std::move(numbers)));
    return graph;
  };
  const Graph first = graph_with("w", {1.0f, 2.0f});
  EXPECT_EQ(diff(first, graph_with("another name", {1.0f, 2.0f})).relation,
            GraphRelation::isomorphic);
  const GraphDiff other = diff(first, graph_with("w", {1.0f, 3.0f}));
  EXPECT_EQ(other.relation, GraphRelation::different);
  EXPECT_EQ(other.difference->what, "numbers of a constant");

  Graph without = graph_with("w", {1.0f, 2.0f});
  without.set_constant(without.find("w"), std::make_shared<Constant>());
  EXPECT_EQ(diff(first, without).relation, GraphRelation::isomorphic);
}

TEST(Diff, ComparesShapesAndTypesOfConstants) {
  const std::string other = with("const %v : i8", "const %v : i4");
  EXPECT_EQ(difference(kGraph, other).what, "type: i8 and i4");
}

TEST(Diff, AConstantHasOnePartner) {
  const std::string tied = with("(%x, %v)", "(%x, %w)");
  EXPECT_EQ(difference(kGraph, tied).what, "another constant");
}

TEST(Diff, NamesInputsAndOutputsThatOneLacks) {
  EXPECT_EQ(difference(kGraph, with("    output up = %up\n", "")).what,
            "output up is in the first only");
  EXPECT_EQ(difference(with("output up", "output down"), kGraph).what,
            "output down is in the first only");
  EXPECT_EQ(difference(kGraph, with("%mask", "%attention_mask")).what,
            "input mask is in the first only");
  EXPECT_EQ(difference(kGraph, with("cl=8", "cl=16")).what, "context: 8 and 16");
}

TEST(Diff, ComparesInputsThatNobodyReads) {
  constexpr const char* kUnread = R"(
    graph decode ar=1 cl=1
    input %x : f32[2]
    input %spare : f32[2]
    %y = aten.neg(%x)
    output y = %y)";
  std::string wider = kUnread;
  wider.replace(wider.find("%spare : f32[2]"), 15, "%spare : f32[3]");
  EXPECT_EQ(difference(kUnread, wider).what, "shape: [2] and [3]");
}

TEST(Diff, OneReshapeMoreIsTheSameFunctionWithMoreNodes) {
  const std::string chain = with("    %r = aten.reshape(%t)",
                                 "    %s = aten.reshape(%t) {sizes=[2, 2]} : u16[2, 2]<0.5, 3>\n"
                                 "    %r = aten.reshape(%s)");
  const GraphDiff result = compare(kGraph, chain);
  EXPECT_EQ(result.relation, GraphRelation::first_smaller);
  EXPECT_THAT(result.nodes, ElementsAre(8, 9));
  EXPECT_THAT(result.operators, ElementsAre(Pair("aten.reshape", ElementsAre(1, 2))));
  EXPECT_EQ(result.difference->what, "operator: aten.transpose and aten.reshape");
  EXPECT_EQ(compare(chain, kGraph).relation, GraphRelation::second_smaller);
}

TEST(Diff, AReshapeThatChangesTheNumbersPlacesIsAnotherFunction) {
  // Reshape and permute do not commute: the same operators in another order.
  constexpr const char* kHead = "graph decode ar=1 cl=1\ninput %x : f32[2, 3]\n";
  const std::string first = std::string(kHead) +
                            "%a = aten.permute(%x) {dims=[1, 0]}\n"
                            "%b = aten.reshape(%a) {sizes=[2, 3]}\noutput y = %b";
  const std::string second = std::string(kHead) +
                             "%a = aten.reshape(%x) {sizes=[2, 3]}\n"
                             "%c = aten.reshape(%a) {sizes=[3, 2]}\n"
                             "%b = aten.permute(%c) {dims=[1, 0]}\noutput y = %b";
  EXPECT_EQ(compare(first, second).relation, GraphRelation::different);
}

TEST(Diff, PermutesThatUndoEachOtherAreTheSameFunctionWithMoreNodes) {
  constexpr const char* kPlain = R"(
    graph decode ar=1 cl=1
    input %x : f32[2, 3, 4]
    %y = aten.neg(%x)
    output y = %y)";
  constexpr const char* kThereAndBack = R"(
    graph decode ar=1 cl=1
    input %x : f32[2, 3, 4]
    %a = aten.permute(%x) {dims=[1, 2, 0]}
    %b = aten.permute(%a) {dims=[2, 0, 1]}
    %y = aten.neg(%b)
    output y = %y)";
  EXPECT_EQ(compare(kPlain, kThereAndBack).relation, GraphRelation::first_smaller);
  std::string elsewhere = kThereAndBack;
  elsewhere.replace(elsewhere.find("[2, 0, 1]"), 9, "[1, 2, 0]");
  // Twice the same rotation is no way back, and the shapes say so.
  EXPECT_EQ(compare(kPlain, elsewhere).relation, GraphRelation::different);
}

TEST(Diff, ComputingOnceWhatTheOtherComputesTwiceIsSmaller) {
  const std::string twice =
      with("    %silu = aten.silu(%gate)",
           "    %again = aten.linear(%x, %w) : u16[1, 1, 8]<0.1, 3> @ mlp.up_proj\n"
           "    %silu = aten.silu(%gate)");
  std::string split = twice;
  split.replace(split.find("(%silu, %up)"), 12, "(%silu, %again)");
  const GraphDiff result = compare(split, kGraph);
  EXPECT_EQ(result.relation, GraphRelation::second_smaller);
  EXPECT_THAT(result.operators, ElementsAre(Pair("aten.linear", ElementsAre(3, 2))));
  EXPECT_EQ(result.difference->what, "computed more than once in the first, not in the second");
}

TEST(Diff, ANodeThatNoOutputNeedsMakesAGraphLarger) {
  const std::string idle =
      with("    output logits", "    %idle = aten.neg(%up)\n    output logits");
  const GraphDiff result = compare(kGraph, idle);
  EXPECT_EQ(result.relation, GraphRelation::first_smaller);
  EXPECT_EQ(result.difference->what, "a node that no output needs");
  EXPECT_EQ(result.difference->first, "");
  EXPECT_THAT(result.difference->second, StartsWith("%idle = "));
}

TEST(Diff, FollowsTheOperandsThatBelongTogether) {
  // The sums stand in opposite orders, and one side of both differs far down.
  constexpr const char* kSums = R"(
    graph decode ar=1 cl=1
    input %x : f32[4]
    input %z : f32[4]
    %a = aten.silu(%x)
    %b = aten.mul(%z) {other=0.5}
    %c = aten.neg(%b)
    %y = aten.add(%a, %c)
    output y = %y)";
  constexpr const char* kSwapped = R"(
    graph decode ar=1 cl=1
    input %x : f32[4]
    input %z : f32[4]
    %a = aten.silu(%x)
    %b = aten.mul(%z) {other=0.25}
    %c = aten.neg(%b)
    %y = aten.add(%c, %a)
    output y = %y)";
  const GraphDifference found = difference(kSums, kSwapped);
  EXPECT_EQ(found.what, "attribute other: 0.5 and 0.25");
  EXPECT_THAT(found.path, ElementsAre("aten.add", "aten.neg"));
}

TEST(Diff, TakesTimeLinearInTheGraph) {
  // Every value is read twice: the paths from the output are 2^64, the pairs 64.
  std::string text = "graph decode ar=1 cl=1\ninput %x0 : f32[1]\n";
  for (int i = 0; i < 64; ++i) {
    text += "%x" + std::to_string(i + 1) + " = aten.add(%x" + std::to_string(i) + ", %x" +
            std::to_string(i) + ")\n";
  }
  text += "output y = %x64\n";
  expect_isomorphic(text, text);
}

}  // namespace
}  // namespace lathe
