#pragma once

#include "graph/graph.h"
#include "support/thread_pool.h"

namespace lathe {

// Operators that need a whole row of the last dimension before they can give its first number.
// Sums of norms and softmax run in float64 over a fixed number of lanes: their order is the same on
// every machine.

/// input [..., width] f32 -> output, rows that sum to 1.
void softmax(const TensorView& input, const TensorView& output, ThreadPool& threads);
/// False for a mask that is not one matrix [rows, width] for all others of the scores.
bool masked_softmax(const Node& node, const TensorView& scores, const TensorView& mask,
                    const TensorView& output, ThreadPool& threads);

/// input [..., width] f32, weight [width] -> output; {eps} of the node.
void rms_norm(const Node& node, const TensorView& input, const TensorView& weight,
              const TensorView& output, ThreadPool& threads);

/// input [..., width] f32 -> output, every row times the Hadamard matrix of `width` (a power of
/// two) over sqrt(width). Equal to the operator's rule bit for bit.
void hadamard(const TensorView& input, const TensorView& output, ThreadPool& threads);

}  // namespace lathe
