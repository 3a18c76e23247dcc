#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Element types. `i4` is stored two values a byte, low nibble first.
enum class DType : uint8_t { f32, f16, bf16, i64, i32, u16, i16, u8, i8, i4, boolean };

std::string_view name_of(DType dtype);
/// Throws Error for a name that is not one of ours; `where` names its place in the file.
DType dtype_from_name(std::string_view name, const std::string& where);
/// Bits of one element.
int bits_of(DType dtype);

/// Sizes of each dimension, outermost first. Empty: a scalar.
using Shape = std::vector<int64_t>;

/// "[1, 9, 64]"
std::string to_string(const Shape& shape);
/// Product of the dimensions (1 for a scalar). The shape must be one that `checked_elements`
/// accepts.
int64_t elements(const Shape& shape);
/// Product of the dimensions, or -1 where one is negative or the product passes 2^62.
int64_t checked_elements(const Shape& shape);
/// Bytes of a dense tensor.
int64_t byte_size(DType dtype, const Shape& shape);
/// Strides (in elements) of a dense tensor.
Shape dense_strides(const Shape& shape);

/// A tensor somewhere in memory. Strides count elements; a dense tensor has dense_strides(shape).
/// Owns nothing.
struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  Shape strides;
  std::byte* data = nullptr;

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// A view of a dense tensor at `data`.
TensorView dense_view(DType dtype, Shape shape, void* data);
bool is_dense(const TensorView& view);

}  // namespace lathe
