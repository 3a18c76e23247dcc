#include "graph/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "support/error.h"

namespace lathe {
namespace {

/// A part for each node, by the names of what they give.
std::vector<int> parts(const Graph& graph, std::initializer_list<std::pair<const char*, int>> of) {
  std::vector<int> parts(static_cast<size_t>(graph.node_count()), kEveryPart);
  for (const auto& [name, part] : of) {
    parts[static_cast<size_t>(graph.value(graph.find(name)).producer)] = part;
  }
  return parts;
}

constexpr const char* kWhole = R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4]<0.5, 10>
    input %shift : u16[1, 4]<0.25, 0>
    %twice = aten.add(%shift, %shift) : u16[1, 4]<0.5, 0>
    %first = aten.add(%x, %twice) : u16[1, 4]<0.5, 20>
    %side = aten.silu(%first) : u16[1, 4]<0.5, 21>
    %second = aten.add(%first, %twice) : u16[1, 4]<0.5, 30>
    output k_new_0 = %side
    output logits = %second)";

TEST(Split, WhatCrossesLeavesOnePartAndEntersTheOther) {
  const Graph whole = parse_graph(kWhole);
  const std::vector<Graph> split =
      split_graph(whole, parts(whole, {{"first", 0}, {"side", 0}, {"second", 1}}));
  ASSERT_EQ(split.size(), 2u);
  EXPECT_EQ(print_graph(split[0]),
            "graph decode ar=1 cl=1\n"
            "  input %x : u16[1, 4]<0.5, 10>\n"
            "  input %shift : u16[1, 4]<0.25, 0>\n"
            "  %twice = aten.add(%shift, %shift) : u16[1, 4]<0.5, 0>\n"
            "  %first = aten.add(%x, %twice) : u16[1, 4]<0.5, 20>\n"
            "  %side = aten.silu(%first) : u16[1, 4]<0.5, 21>\n"
            "  output k_new_0 = %side\n"
            "  output first = %first\n");
  EXPECT_EQ(print_graph(split[1]),
            "graph decode ar=1 cl=1\n"
            "  input %shift : u16[1, 4]<0.25, 0>\n"
            "  input %first : u16[1, 4]<0.5, 20>\n"
            "  %twice = aten.add(%shift, %shift) : u16[1, 4]<0.5, 0>\n"
            "  %second = aten.add(%first, %twice) : u16[1, 4]<0.5, 30>\n"
            "  output logits = %second\n");
}

TEST(Split, OnePartIsTheWhole) {
  const Graph whole = parse_graph(kWhole);
  const std::vector<Graph> split =
      split_graph(whole, parts(whole, {{"first", 0}, {"side", 0}, {"second", 0}}));
  ASSERT_EQ(split.size(), 1u);
  EXPECT_EQ(print_graph(split[0]), print_graph(whole));
}

TEST(Split, RefusesToReadFromALaterPart) {
  const Graph whole = parse_graph(kWhole);
  EXPECT_THROW(split_graph(whole, parts(whole, {{"first", 1}, {"side", 1}, {"second", 0}})), Error);
  EXPECT_THROW(split_graph(whole, parts(whole, {{"first", 0}, {"second", 0}})), Error);
}

TEST(Split, RefusesAnEmptyPart) {
  const Graph whole = parse_graph(kWhole);
  EXPECT_THROW(split_graph(whole, parts(whole, {{"first", 0}, {"side", 0}, {"second", 2}})), Error);
}

}  // namespace
}  // namespace lathe
