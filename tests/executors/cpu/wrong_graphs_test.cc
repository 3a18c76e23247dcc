#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executors/cpu/code_graph.h"
#include "executors/cpu/session.h"
#include "graph/text.h"
#include "support/error.h"

// Graphs that cannot be run are refused when a session is made, whatever else they are.

namespace lathe {
namespace {

using testing::HasSubstr;

void expect_refused(const Graph& graph, const std::string& why) {
  try {
    make_cpu_session(graph, team_of(1));
    FAIL() << "made a session of\n" << print_graph(graph);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(why));
  }
}

void expect_refused(const std::string& lines, const std::string& why) {
  expect_refused(CodeGraph("graph decode ar=1 cl=8\n" + lines).graph(), why);
}

TEST(WrongGraphs, Floats) {
  expect_refused("input %x : f32[1, 4]\n%y = aten.neg(%x)\noutput y = %y\n", "float");
  expect_refused(
      "const %c : f32[4]\ninput %x : u16[1, 4]<0.1, 0>\n%y = aten.mul(%x, %c)\n"
      "output y = %y\n",
      "float");
}

TEST(WrongGraphs, CodesWithoutAnEncoding) {
  expect_refused("input %x : u16[1, 4]\n%y = aten.neg(%x) : u16[1, 4]<0.1, 0>\noutput y = %y\n",
                 "codes with an encoding");
}

TEST(WrongGraphs, ConstantsWithoutData) {
  Graph graph = parse_graph(
      "graph decode ar=1 cl=8\nconst %c : u16[1, 4]<0.1, 0>\n"
      "%y = aten.neg(%c) : u16[1, 4]<0.1, 0>\noutput y = %y\n");
  expect_refused(graph, "no data");
}

TEST(WrongGraphs, ConstantsThatAreTooShort) {
  Graph graph = parse_graph(
      "graph decode ar=1 cl=8\ninput %x : u16[1, 8]<0.1, 0>\nconst %w : i8[16, 8]<0.01, 0>\n"
      "%y = aten.linear(%x, %w) : u16[1, 16]<0.1, 0>\noutput y = %y\n");
  const ValueId weight = graph.find("w");
  for (const Layout layout : {Layout::rows, Layout::packed}) {
    graph.set_constant(weight, bytes_constant("w", std::vector<std::byte>(127), layout));
    expect_refused(graph, "wrong size");
  }
}

TEST(WrongGraphs, PackedWeightsElsewhere) {
  Graph graph = parse_graph(
      "graph decode ar=1 cl=8\nconst %w : i8[16, 8]<0.01, 0>\ninput %ids : i32[1, 1]\n"
      "%y = aten.embedding(%w, %ids) : i8[1, 1, 8]<0.01, 0>\noutput y = %y\n");
  graph.set_constant(graph.find("w"),
                     bytes_constant("w", std::vector<std::byte>(128 + 64), Layout::packed));
  expect_refused(graph, "packed weights");
}

TEST(WrongGraphs, OutputsThatAreNeverComputed) {
  expect_refused("const %c : u16[1, 4]<0.1, 0>\noutput c = %c\n", "never computed");
}

TEST(WrongGraphs, EmptyTables) {
  expect_refused(
      "input %t : u16[0, 4]<0.1, 0>\ninput %ids : i32[1, 2]\n"
      "%y = aten.embedding(%t, %ids)\noutput y = %y\n",
      "table is empty");
}

TEST(WrongGraphs, EncodingsThatAreNone) {
  Graph graph = parse_graph(
      "graph decode ar=1 cl=8\ninput %x : u16[1, 4]<0.1, 0>\n"
      "%y = aten.neg(%x) : u16[1, 4]<0.1, 0>\noutput y = %y\n");
  Encoding encoding{DType::u16, {}, 0, -1};
  graph.set_value_type(graph.find("y"), DType::u16, encoding);
  expect_refused(graph, "number of scales");
  encoding.scale = {-1.0f};
  graph.set_value_type(graph.find("y"), DType::u16, encoding);
  expect_refused(graph, "not a positive number");
}

TEST(WrongGraphs, MovementThatChangesTheEncoding) {
  expect_refused(
      "input %x : u16[1, 4]<0.1, 0>\n"
      "%y = aten.view(%x) {sizes=[4]} : u16[4]<0.2, 0>\noutput y = %y\n",
      "another encoding");
}

// Unusual but right: each of these has no step of its own and runs as the reference does.

TEST(UnusualGraphs, WeightsAndBiasesThatAreInputs) {
  for (const char* kind : {"input", "const"}) {
    CodeGraph weight(std::string("graph decode ar=1 cl=8\n"
                                 "input %x : u16[3, 8]<0.0001, 30000>\n"
                                 "input %w : i8[16, 8]<0.01, 0>\n") +
                     kind + " %b : i32[16]\n%y = aten.linear(%x, %w, %b)\noutput y = %y\n");
    expect_as_reference(weight, 0);
  }
}

TEST(UnusualGraphs, NothingToDo) {
  CodeGraph graph("graph decode ar=1 cl=8\ninput %x : u16[3, 8]<0.0001, 30000>\n");
  expect_as_reference(graph, 0);
}

}  // namespace
}  // namespace lathe
