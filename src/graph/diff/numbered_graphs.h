#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/diff.h"
#include "graph/graph.h"
#include "graph/value_numbers.h"

namespace lathe {

template <typename Item>
using Both = std::array<Item, 2>;

/// A pair of values, one of each graph.
using Pair = Both<ValueId>;

/// "operator: aten.mul and aten.add"
std::string either(std::string_view what, std::string_view first, std::string_view second);

/// What distinguishes two values, apart from where they come from; empty: nothing.
std::string type_difference(const Value& a, const Value& b);

/// Two graphs whose values were numbered together. They outlive this.
class NumberedGraphs {
 public:
  NumberedGraphs(const Graph& first, const Graph& second, ValueNumbers::NoData no_data,
                 ValueNumbers::Movement movement);

  ValueNumbers::NoData no_data() const { return no_data_; }
  const Graph& graph(size_t side) const { return *graphs_[side]; }
  const Value& value(size_t side, const Pair& pair) const { return graph(side).value(pair[side]); }
  /// Null for inputs and constants.
  const Node* producer(size_t side, const Pair& pair) const {
    return graph(side).producer(pair[side]);
  }
  int32_t number(size_t side, ValueId id) const { return numbers_[side][static_cast<size_t>(id)]; }
  bool alike(const Pair& pair) const { return number(0, pair[0]) == number(1, pair[1]); }

  /// The operands of two nodes that have as many of them, in pairs that are alike as far as
  /// possible.
  std::vector<Pair> operands(const Node& a, const Node& b) const;

  struct OutputPair {
    std::string name;
    Pair values;
  };
  /// Those of one name; the graphs have the same names.
  std::vector<OutputPair> outputs() const;
  std::optional<OutputPair> first_unlike_output() const;

  /// The difference between two values, with both as text.
  GraphDifference describe(const Pair& pair, std::string what) const;

 private:
  int likeness(std::span<const Pair> pairs) const;

  Both<const Graph*> graphs_;
  ValueNumbers::NoData no_data_;
  Both<std::vector<int32_t>> numbers_;
};

}  // namespace lathe
