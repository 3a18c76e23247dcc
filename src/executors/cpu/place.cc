#include "executors/cpu/place.h"

namespace lathe {

bool fills_memory(const Shape& shape, const Shape& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && strides[i] == 0) return false;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1 == elements(shape);
}

bool same_order(const Shape& shape, const Shape& a, const Shape& b) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && a[i] != b[i]) return false;
  }
  return true;
}

Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& to) {
  Shape result(to.size(), 0);
  const size_t lead = to.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == to[lead + i]) result[lead + i] = strides[i];
  }
  return result;
}

std::optional<Shape> reshape_strides(const Shape& shape, const Shape& strides, const Shape& to) {
  if (is_dense({DType::f32, shape, strides, nullptr})) return dense_strides(to);
  // Dimensions of size 1 say nothing about memory.
  Shape from;
  Shape from_strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    from.push_back(shape[i]);
    from_strides.push_back(strides[i]);
  }
  Shape result(to.size(), 0);
  size_t next = 0;  // first dimension of `from` not used yet
  size_t i = 0;
  while (i < to.size()) {
    if (to[i] == 1) {
      ++i;
      continue;
    }
    // The smallest runs of dimensions [i, last) and [next, end) with as many elements.
    size_t end = next;
    size_t last = i;
    int64_t old_size = 1;
    int64_t new_size = 1;
    do {
      if (new_size <= old_size && last < to.size()) {
        new_size *= to[last++];
      } else if (end < from.size()) {
        old_size *= from[end++];
      } else {
        return std::nullopt;
      }
    } while (new_size != old_size);
    // The old run must be one stretch of memory.
    for (size_t k = next; k + 1 < end; ++k) {
      if (from_strides[k] != from_strides[k + 1] * from[k + 1]) return std::nullopt;
    }
    int64_t stride = end > next ? from_strides[end - 1] : 1;
    for (size_t k = last; k-- > i;) {
      result[k] = stride;
      stride *= to[k];
    }
    next = end;
    i = last;
  }
  return result;
}

}  // namespace lathe
