#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lathe {

enum class GraphRelation : uint8_t {
  isomorphic,      ///< node for node the same
  first_smaller,   ///< the same function, with fewer nodes in the first
  second_smaller,  ///< the same function, with fewer nodes in the second
  different
};
/// "isomorphic", "first smaller", ...
std::string_view name_of(GraphRelation relation);

/// The place where two graphs part, as near to their inputs as they can be followed.
struct GraphDifference {
  std::string output;             ///< that it was reached from; empty: the boundary itself differs
  std::vector<std::string> path;  ///< back from there: "aten.add @ model.layers.1", ...
  std::string module;             ///< where it lies
  std::string what;               ///< "operator: aten.mul and aten.add"
  std::string first;              ///< the two as graph text; empty where there is none
  std::string second;
};

struct GraphDiff {
  GraphRelation relation = GraphRelation::different;
  std::array<int64_t, 2> nodes{};
  /// How often each operator occurs in the two, where that differs.
  std::map<std::string, std::array<int64_t, 2>> operators;
  std::optional<GraphDifference> difference;  ///< unset: isomorphic
};

/// Compares two graphs by their structure. They are isomorphic where walking back from outputs of
/// the same name pairs every node of one with exactly one of the other: same operator, meaning of
/// attributes (attribute_meaning), shapes, types, encodings to the last bit of a scale, specs, same
/// constants (by their data where both have it) and inputs of the same name. Ids, names of values,
/// the order of nodes, inputs and outputs, the order of the operands of add and mul, and module
/// paths are of no account. Both graphs pass verify().
///
/// Graphs of one function where one needs fewer nodes: it computes something once that the other
/// computes more than once, leaves out nodes that no output needs, or reshapes and permutes less.
/// There a constant without data is known by the name of its weight.
GraphDiff diff(const Graph& first, const Graph& second);

}  // namespace lathe
