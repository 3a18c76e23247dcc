#pragma once

#include "graph/graph.h"

namespace lathe {

/// Throws Error, beginning with the value's name, for an encoding that the tensor cannot have:
/// another type, an axis outside of the tensor, a wrong number of scales or ones that are not
/// positive numbers, a zero point that is no code, blocks of anything but constant i4 matrices or
/// of a size that does not divide their rows.
void check_encoding(const Value& value);

}  // namespace lathe
