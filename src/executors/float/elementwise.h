#pragma once

#include <span>

#include "graph/graph.h"
#include "support/thread_pool.h"

namespace lathe {

/// add, sub, mul (of two tensors that broadcast, or a tensor and a scalar), neg, sigmoid and silu
/// on f32.
void elementwise(const Node& node, std::span<const TensorView> inputs, const TensorView& output,
                 ThreadPool& threads);

}  // namespace lathe
