#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Value numbering (hash-consing): two values, of one graph or of two, get the same number exactly
/// where they are computed alike: the same operators with the same meaning of their attributes,
/// shapes, types, encodings and specs, from the same constants and from inputs of the same name.
/// Operands of add and mul have no order. Names of values, ids, the order of nodes and module paths
/// play no part. Takes time linear in the size of the graphs.
class ValueNumbers {
 public:
  /// What a constant without data (of a graph that was read from text) is known by. One with data
  /// is known by the data, and in any case by its type and encoding.
  enum class NoData : uint8_t {
    name,  ///< of the weight
    type   ///< by nothing else: weights may have other names, and only a pairing tells them apart
  };
  enum class Movement : uint8_t {
    exact,  ///< every operator counts
    merged  ///< chains of reshapes and permutes count as one, and those that change nothing as none
  };
  ValueNumbers(NoData no_data, Movement movement) : no_data_(no_data), movement_(movement) {}

  /// A number for each value id; kNone for values that no node of the graph defines or reads.
  std::vector<int32_t> number(const Graph& graph);

 private:
  /// A value that holds the numbers of another one in another shape or order.
  struct Moved {
    int32_t from = kNone;
    Shape shape;                // of `from`
    std::vector<int64_t> dims;  // permutes: dimension i of the value is dims[i] of `from`
  };

  int32_t intern(std::string key);
  int32_t number_constant(const Value& value);
  int32_t number_node(const Graph& graph, const Node& node, const std::vector<int32_t>& numbers);
  /// The number of what moves only; kNone for other operators.
  int32_t number_movement(const Graph& graph, const Node& node,
                          const std::vector<int32_t>& numbers);
  int32_t reshaped(int32_t from, const Shape& shape, const Shape& to);
  int32_t permuted(int32_t from, const Shape& shape, const std::vector<int64_t>& dims,
                   const Shape& to);

  NoData no_data_;
  Movement movement_;
  std::unordered_map<std::string, int32_t> numbers_;  // by what they are made of
  std::map<const Constant*, std::string> contents_;   // hashes of those seen
  std::map<int32_t, Moved> reshapes_;
  std::map<int32_t, Moved> permutes_;
};

/// Whether there are two operands whose order is of no account.
bool is_commutative(const Node& node);

/// Whether there is data: a graph that was read from text has none.
bool has_data(const Constant& constant);
/// 32 hex digits for the data of a constant: its layout and bytes, a FloatSource as float32.
std::string content_hash(const Value& constant);

}  // namespace lathe
