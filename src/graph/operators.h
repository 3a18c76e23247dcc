#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Element type and shape of a value.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

/// What quantization does with an operator's output (docs/numerics.md).
enum class EncodingRule : uint8_t {
  computes,     ///< new numbers: an encoding of its own, found by calibration
  moves_codes,  ///< the inputs' codes: one encoding shared by inputs and output
  unit,         ///< numbers in [0, 1]: the fixed encoding 1/65536
  none          ///< integers or booleans that are not codes, or not part of an integer graph
};

/// Everything there is to know about an operator, in one place: src/graph/operators/ has one table
/// for each kind (movement, arithmetic, products, making).
struct OperatorRule {
  Op op;
  std::string_view name;  ///< "aten.mul"
  std::string_view stem;  ///< values are named after it: "mul" gives mul, mul_1, mul_2
  int min_inputs;
  int max_inputs;  ///< -1: any number
  EncodingRule encoding;
  /// moves_codes: whether input `index` is data that moves (the table of an embedding, not the
  /// ids).
  bool (*moves)(int index);
  /// Types of the outputs. Throws Error for inputs the operator does not take.
  std::vector<TensorType> (*infer)(const Node& node, std::span<const TensorType> inputs);
  /// The float rule: computes the outputs, scalar and obvious. All views are dense. Movement rules
  /// work on elements of any type.
  void (*evaluate)(const Node& node, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs);
  /// Products: whether input `index` is a weight or a bias, stored in a format of its own that a
  /// recipe chooses, and no activation. Null: none is.
  bool (*stores)(int index) = nullptr;
};

const OperatorRule& rule_of(Op op);
/// Whether an operator's output holds its input's elements and nothing computed from them (`to`
/// may give them another type).
bool is_movement(Op op);
/// The distance between the elements along its dimension that a slice takes.
int64_t slice_step(const Node& slice);
/// Null for a name that no operator has.
const OperatorRule* rule_named(std::string_view name);

}  // namespace lathe
