#pragma once

#include "executors/cpu/lowering/plan_builder.h"
#include "executors/cpu/patterns.h"

namespace lathe {

// How nodes become steps. Those that return bool say whether there is a step (or a view) for this
// node with its types and shapes; where there is none, the plan is as it was.

/// Reshapes, transposes, slices and expansions: other strides over the same memory.
bool lower_movement(PlanBuilder& plan, const Node& node);
bool lower_embedding(PlanBuilder& plan, const Node& node);
/// Products with packed 8-bit weights.
bool lower_linear(PlanBuilder& plan, const Node& node);
/// add, mul, neg, silu and requantize on u16 codes.
bool lower_elementwise(PlanBuilder& plan, const Node& node);
bool lower_rms_norm(PlanBuilder& plan, const Node& node);

void lower_attention(PlanBuilder& plan, const AttentionPattern& pattern);
void lower_rope(PlanBuilder& plan, const RopePattern& pattern);
void lower_gated(PlanBuilder& plan, const GatedPattern& pattern);

/// Any node, as the reference executor computes it.
void lower_by_reference(PlanBuilder& plan, const Node& node);

}  // namespace lathe
