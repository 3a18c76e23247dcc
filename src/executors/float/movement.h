#pragma once

#include <span>

#include "graph/graph.h"
#include "support/thread_pool.h"

namespace lathe {

/// cat, on elements of any type.
void concatenate(const Node& node, std::span<const TensorView> inputs, const TensorView& output,
                 ThreadPool& threads);

/// expand, permute, select, slice and transpose: the input read along other strides. Any element
/// type.
void gather(const Node& node, const TensorView& input, const TensorView& output,
            ThreadPool& threads);

}  // namespace lathe
