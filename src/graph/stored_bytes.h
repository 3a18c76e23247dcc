#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "graph/packed_int4.h"

namespace lathe {

/// Bytes that a constant of this type and shape takes in its layout. Throws Error, beginning with
/// the value's name, for packed data of anything but an i8 or i4 matrix, and for i4 that is not
/// packed.
int64_t stored_bytes(const Value& value);

/// The matrix that packed i4 weights [N, K] or [N, K, 1, 1] hold.
Int4Matrix int4_matrix(const Value& value);

}  // namespace lathe
