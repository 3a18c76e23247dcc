#pragma once

#include <cstdint>
#include <optional>

#include "executors/cpu/frame.h"
#include "support/tensor.h"

namespace lathe {

/// Where a value lies: in which buffer, from which element on, with which strides (in elements).
struct Place {
  BufferId buffer = -1;
  int64_t offset = 0;
  Shape strides = {};
};

/// Whether a tensor's elements fill memory without gaps or repetition, in whatever order.
bool fills_memory(const Shape& shape, const Shape& strides);

/// Whether two tensors of one shape have their elements in the same order in memory.
bool same_order(const Shape& shape, const Shape& a, const Shape& b);

/// The strides that repeat a tensor along the dimensions that it broadcasts over to become `to`.
Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& to);

/// The strides that show memory of `shape` and `strides` under another shape of as many elements,
/// where that needs no copy; else nothing.
std::optional<Shape> reshape_strides(const Shape& shape, const Shape& strides, const Shape& to);

}  // namespace lathe
