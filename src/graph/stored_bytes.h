#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace lathe {

/// Bytes that a constant of this type and shape takes in its layout. Throws Error, beginning with
/// the value's name, for packed data of anything but an i8 matrix.
int64_t stored_bytes(const Value& value);

}  // namespace lathe
