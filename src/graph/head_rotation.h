#pragma once

#include <cstdint>
#include <memory>

#include "graph/constant.h"

namespace lathe {

/// The rotation of queries and keys (R3 of SpinQuant, Liu et al. 2024) for head dimensions that a
/// hadamard node does not take: the weight [head_dim, head_dim] of a product that gives x Q, with Q
/// the Orthogonal of that size. The same constant in every graph.
std::shared_ptr<const Constant> head_rotation(int64_t head_dim);

/// Whether a constant came from head_rotation: no tensor of a checkpoint does, whatever its name.
bool is_head_rotation(const Constant& constant);

}  // namespace lathe
