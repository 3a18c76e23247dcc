#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::ElementsAre;

std::vector<std::string> names_in_order(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) names.push_back(graph.value(graph.node(id).output()).name);
  return names;
}

constexpr const char* kChain = R"(
  graph decode ar=1 cl=1
  input %x : f32[4]
  input %unused : f32[4]
  %neg = aten.neg(%x)
  %cos = aten.cos(%neg)
  %sin = aten.sin(%neg)
  output y = %cos)";

TEST(Graph, NamesResultsAfterTheirOperators) {
  Graph graph(GraphRole::decode, 1, 1);
  const ValueId x = graph.add_input("x", DType::f32, {4});
  graph.append({.op = Op::neg, .inputs = {x}});
  graph.append({.op = Op::cos, .inputs = {x}});
  graph.append({.op = Op::neg, .inputs = {x}});
  EXPECT_THAT(names_in_order(graph), ElementsAre("neg", "cos", "neg_1"));
}

TEST(Graph, RemoveDeadKeepsWhatOutputsNeed) {
  Graph graph = parse_graph(kChain);
  graph.remove_dead();
  EXPECT_THAT(names_in_order(graph), ElementsAre("neg", "cos"));
  EXPECT_EQ(graph.inputs().size(), 1u);
}

TEST(Graph, IdsStayWhenOthersAreRemoved) {
  Graph graph = parse_graph(kChain);
  const ValueId cos = graph.find("cos");
  graph.remove_dead();
  EXPECT_EQ(graph.find("cos"), cos);
}

TEST(Graph, InsertsBeforeAndAfter) {
  Graph graph = parse_graph(kChain);
  const NodeId cos = graph.value(graph.find("cos")).producer;
  graph.insert_before(cos, {.op = Op::silu, .inputs = {graph.find("neg")}, .name = "before"});
  graph.insert_after(cos, {.op = Op::silu, .inputs = {graph.find("cos")}, .name = "after"});
  EXPECT_THAT(names_in_order(graph), ElementsAre("neg", "before", "cos", "after", "sin"));
}

TEST(Graph, ReplaceUsesReachesNodesAndOutputs) {
  Graph graph = parse_graph(kChain);
  graph.replace_uses(graph.find("cos"), graph.find("sin"));
  graph.replace_uses(graph.find("neg"), graph.find("x"));
  EXPECT_EQ(graph.outputs()[0].value, graph.find("sin"));
  EXPECT_THAT(graph.node(graph.value(graph.find("sin")).producer).inputs,
              ElementsAre(graph.find("x")));
}

TEST(Graph, RestoreOrderPutsProducersFirst) {
  Graph graph = parse_graph(kChain);
  const NodeId neg = graph.value(graph.find("neg")).producer;
  const ValueId late = graph.append({.op = Op::silu, .inputs = {graph.find("x")}, .name = "late"});
  graph.set_inputs(neg, {late});
  graph.restore_order();
  EXPECT_THAT(names_in_order(graph), ElementsAre("late", "neg", "cos", "sin"));
}

TEST(Graph, UsersAreListedOnceAndInOrder) {
  const Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[4]
    %mul = aten.mul(%x, %x)
    %neg = aten.neg(%x)
    output y = %neg)");
  const auto users = graph.users();
  EXPECT_THAT(users[static_cast<size_t>(graph.find("x"))],
              ElementsAre(graph.value(graph.find("mul")).producer,
                          graph.value(graph.find("neg")).producer));
}

TEST(Graph, IoContractHasNamesTypesAndEncodings) {
  const Graph graph = parse_graph(R"(
    graph prefill ar=4 cl=16
    input %tokens : i32[1, 4]
    input %x : u16[4]<0.5, 3>
    %alias = aten.alias(%x) : u16[4]<0.5, 3>
    output y = %alias)");
  const IoContract io = graph.io();
  EXPECT_EQ(io.role, GraphRole::prefill);
  EXPECT_EQ(io.tokens_per_call, 4);
  EXPECT_EQ(io.context, 16);
  EXPECT_EQ(io.find_input("tokens")->dtype, DType::i32);
  EXPECT_EQ(io.find_output("y")->encoding->zero_point, 3);
  EXPECT_EQ(io.find_output("tokens"), nullptr);
}

TEST(Graph, RefusesInputsThatAnOperatorDoesNotTake) {
  Graph graph(GraphRole::decode, 1, 1);
  const ValueId x = graph.add_input("x", DType::f32, {4});
  EXPECT_THROW(graph.append({.op = Op::le, .inputs = {x}}), Error);
  EXPECT_THROW(graph.append({.op = Op::view, .inputs = {x}, .attributes = {{"sizes", Shape{3}}}}),
               Error);
  EXPECT_THROW(
      graph.append({.op = Op::softmax, .inputs = {x}, .attributes = {{"dim", int64_t{4}}}}), Error);
}

}  // namespace
}  // namespace lathe
