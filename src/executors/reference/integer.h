#pragma once

#include <span>

#include "graph/graph.h"

namespace lathe {

// What operators do to codes (docs/numerics.md). Movement operators are not here: their float rules
// move elements of any type.

/// Whether a node that is no movement reads or gives codes.
bool computes_on_codes(const Graph& graph, const Node& node);

/// Whether a linear or conv2d has the exact integer form: u16 or u8 activations in and out, one
/// scale each, weights of i8, i4 or i16 with zero point 0 and one scale per channel (or one; and
/// factors of blocks), a bias of i32 or none.
bool is_integer_product(const Graph& graph, const Node& node);

/// Whether both operands and the result of a matmul are u16 or u8 codes, one scale each.
bool is_integer_matmul(const Graph& graph, const Node& node);

/// Evaluates a node for which computes_on_codes(). Integer products sum exactly in int64 and are
/// rescaled once, by a float64 multiplier made of the float32 scales. Any other operator works on
/// dequantized float32 values by the operator table's rule; its result is quantized once.
void evaluate_on_codes(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs);

}  // namespace lathe
