#include "graph/diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/diff/locate.h"
#include "graph/diff/numbered_graphs.h"
#include "graph/diff/pairing.h"
#include "graph/operators.h"

namespace lathe {
namespace {

std::optional<GraphDifference> boundary_difference(const Graph& first, const Graph& second) {
  const auto differ = [](std::string what) {
    GraphDifference difference;
    difference.what = std::move(what);
    return difference;
  };
  if (first.tokens_per_call() != second.tokens_per_call()) {
    return differ(either("tokens per call", std::to_string(first.tokens_per_call()),
                         std::to_string(second.tokens_per_call())));
  }
  if (first.context() != second.context()) {
    return differ(
        either("context", std::to_string(first.context()), std::to_string(second.context())));
  }
  if (first.window() != second.window()) {
    return differ(
        either("window", std::to_string(first.window()), std::to_string(second.window())));
  }
  const Both<IoContract> io{first.io(), second.io()};
  constexpr Both<const char*> kSides{"first", "second"};
  for (const size_t side : {size_t{0}, size_t{1}}) {
    for (const IoTensor& output : io[side].outputs) {
      if (io[1 - side].find_output(output.name) == nullptr) {
        return differ(fmt::format("output {} is in the {} only", output.name, kSides[side]));
      }
    }
  }
  for (const size_t side : {size_t{0}, size_t{1}}) {
    for (const IoTensor& input : io[side].inputs) {
      if (io[1 - side].find_input(input.name) == nullptr) {
        return differ(fmt::format("input {} is in the {} only", input.name, kSides[side]));
      }
    }
  }
  return std::nullopt;
}

/// Unset: isomorphic.
std::optional<GraphDifference> find_difference(const Graph& first, const Graph& second,
                                               ValueNumbers::NoData no_data) {
  const NumberedGraphs graphs(first, second, no_data, ValueNumbers::Movement::exact);
  if (const auto output = graphs.first_unlike_output()) return locate(graphs, *output);
  return pair_nodes(graphs);
}

bool all_have_data(const Graph& graph) {
  return std::all_of(graph.order().begin(), graph.order().end(), [&](NodeId id) {
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return !graph.value(input).is_constant() || has_data(*graph.value(input).constant);
    });
  });
}

std::map<std::string, Both<int64_t>> count_operators(const Graph& first, const Graph& second) {
  std::map<std::string, Both<int64_t>> counts;
  for (const NodeId id : first.order()) {
    ++counts[std::string(rule_of(first.node(id).op).name)][0];
  }
  for (const NodeId id : second.order()) {
    ++counts[std::string(rule_of(second.node(id).op).name)][1];
  }
  std::erase_if(counts, [](const auto& entry) { return entry.second[0] == entry.second[1]; });
  return counts;
}

}  // namespace

std::string_view name_of(GraphRelation relation) {
  switch (relation) {
    case GraphRelation::isomorphic:
      return "isomorphic";
    case GraphRelation::first_smaller:
      return "first smaller";
    case GraphRelation::second_smaller:
      return "second smaller";
    case GraphRelation::different:
      return "different";
  }
  return "";
}

GraphDiff diff(const Graph& first, const Graph& second) {
  GraphDiff result;
  result.nodes = {static_cast<int64_t>(first.order().size()),
                  static_cast<int64_t>(second.order().size())};
  result.operators = count_operators(first, second);
  result.difference = boundary_difference(first, second);
  if (result.difference) return result;

  result.difference = find_difference(first, second, ValueNumbers::NoData::name);
  if (result.difference && !(all_have_data(first) && all_have_data(second))) {
    result.difference = find_difference(first, second, ValueNumbers::NoData::type);
  }
  if (!result.difference) {
    result.relation = GraphRelation::isomorphic;
    return result;
  }
  if (result.nodes[0] == result.nodes[1]) return result;
  const NumberedGraphs merged(first, second, ValueNumbers::NoData::name,
                              ValueNumbers::Movement::merged);
  if (merged.first_unlike_output()) return result;
  result.relation = result.nodes[0] < result.nodes[1] ? GraphRelation::first_smaller
                                                      : GraphRelation::second_smaller;
  return result;
}

}  // namespace lathe
