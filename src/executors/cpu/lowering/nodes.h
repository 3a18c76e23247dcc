#pragma once

#include "executors/cpu/lowering/plan_builder.h"
#include "executors/cpu/patterns.h"

namespace lathe {

// How nodes become steps. Those that return bool say whether there is a step (or a view) for this
// node with its types and shapes; where there is none, the plan is as it was.

/// Reshapes, transposes, permutations, slices and expansions: other strides over the same memory.
bool lower_movement(PlanBuilder& plan, const Node& node);
bool lower_embedding(PlanBuilder& plan, const Node& node);
/// linear and conv2d with packed weights of 8 or 4 bits.
bool lower_linear(PlanBuilder& plan, const Node& node);
/// Replaces rows of a cache: one copy of all of it, and the rows.
bool lower_index_copy(PlanBuilder& plan, const Node& node);
/// Products of two activations: u16 times u16 or u8, to u16.
bool lower_matmul(PlanBuilder& plan, const Node& node);
/// add, sub and mul of u16 codes, of tensors that broadcast or by a scalar; what
/// lower_elementwise() leaves to it.
bool lower_arithmetic(PlanBuilder& plan, const Node& node);
/// add, sub, mul, division by a number, squares, neg, sigmoid, silu, gelu, tanh and requantize on
/// u16 codes.
bool lower_elementwise(PlanBuilder& plan, const Node& node);
/// rms_norm, softmax and hadamard on u16 codes.
bool lower_rows(PlanBuilder& plan, const Node& node);

void lower_attention(PlanBuilder& plan, const AttentionPattern& pattern);
void lower_repeated_matmul(PlanBuilder& plan, const RepeatedMatmulPattern& pattern);
void lower_rope(PlanBuilder& plan, const RopePattern& pattern);
void lower_split_rope(PlanBuilder& plan, const SplitRopePattern& pattern);
void lower_gated(PlanBuilder& plan, const GatedPattern& pattern);

/// Any node, as the reference executor computes it.
void lower_by_reference(PlanBuilder& plan, const Node& node);

}  // namespace lathe
