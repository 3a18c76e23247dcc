#include "support/tensor.h"

#include <array>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

struct DTypeFact {
  std::string_view name;
  int bits;
};

// In the order of the enum.
constexpr std::array<DTypeFact, 11> kFacts{{{"f32", 32},
                                            {"f16", 16},
                                            {"bf16", 16},
                                            {"i64", 64},
                                            {"i32", 32},
                                            {"u16", 16},
                                            {"i16", 16},
                                            {"u8", 8},
                                            {"i8", 8},
                                            {"i4", 4},
                                            {"bool", 8}}};

}  // namespace

std::string_view name_of(DType dtype) { return kFacts[static_cast<size_t>(dtype)].name; }

DType dtype_from_name(std::string_view name, const std::string& where) {
  for (size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].name == name) return static_cast<DType>(i);
  }
  fail({.what = "unknown element type", .where = where, .found = printable(name, 40)});
}

int bits_of(DType dtype) { return kFacts[static_cast<size_t>(dtype)].bits; }

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

int64_t elements(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t dimension : shape) product *= dimension;
  return product;
}

int64_t checked_elements(const Shape& shape) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  int64_t product = 1;
  bool empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return -1;
    if (dimension == 0) {
      empty = true;
      continue;
    }
    if (product > kLimit / dimension) return -1;
    product *= dimension;
  }
  return empty ? 0 : product;
}

int64_t byte_size(DType dtype, const Shape& shape) {
  return (elements(shape) * bits_of(dtype) + 7) / 8;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

TensorView dense_view(DType dtype, Shape shape, void* data) {
  Shape strides = dense_strides(shape);
  return {dtype, std::move(shape), std::move(strides), static_cast<std::byte*>(data)};
}

bool is_dense(const TensorView& view) {
  int64_t stride = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != stride) return false;
    stride *= view.shape[i];
  }
  return true;
}

}  // namespace lathe
