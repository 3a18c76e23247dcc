#pragma once

#include "executors/cpu/kernels/arguments.h"
#include "graph/graph.h"

namespace lathe {

/// Whether a value holds codes of `dtype` under one encoding for the whole tensor.
inline bool is_codes(const Value& value, DType dtype) {
  return value.dtype == dtype && value.encoding && !value.encoding->per_channel();
}

/// The encoding of such a value as the kernels take it.
inline Affine affine(const Value& value) {
  return {value.encoding->scale.front(), value.encoding->zero_point};
}

/// Elements of the last dimension, and how many such rows a tensor has.
inline int64_t row_width(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }
inline int64_t row_count(const Shape& shape) {
  const int64_t width = row_width(shape);
  return width == 0 ? 0 : elements(shape) / width;
}

/// An attribute that names a dimension of a tensor of `rank`; negative ones count from the end.
inline size_t dimension(const Node& node, const char* attribute, size_t rank) {
  const int64_t dim = node.attributes.integer(attribute);
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

}  // namespace lathe
