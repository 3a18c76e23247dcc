#pragma once

#include <vector>

#include "graph/graph.h"

namespace lathe {

/// All numbers of a float constant, row-major: for those that are small, such as a norm's weight.
std::vector<float> constant_floats(const Value& constant);

}  // namespace lathe
