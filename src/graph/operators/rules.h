#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/operators.h"
#include "support/error.h"

// Shared by the tables of this folder; nothing outside includes it.
namespace lathe::rules {

std::span<const OperatorRule> movement();
std::span<const OperatorRule> making();
std::span<const OperatorRule> arithmetic();
std::span<const OperatorRule> logic();
std::span<const OperatorRule> products();

/// Throws Error "<operator>: <what>: expected ..., found ...".
[[noreturn]] void refuse(const Node& node, std::string what, std::string expected = {},
                         std::string found = {});

/// A dimension index with Python's meaning of negative numbers, checked against `rank`.
size_t dimension(const Node& node, std::string_view attribute, size_t rank);

/// The shape that NumPy's broadcasting gives. Throws Error where the two do not fit.
Shape broadcast(const Node& node, const Shape& a, const Shape& b);

/// Strides for reading a dense tensor of `shape` at the coordinates of the broadcast shape `to`:
/// 0 along dimensions that are repeated.
Shape broadcast_strides(const Shape& shape, const Shape& to);

/// Calls visit(offset_a, offset_b, ...) for every element of `shape` in row-major order; offset i
/// counts elements along strides[i].
template <size_t N, typename Visit>
void for_each(const Shape& shape, const std::array<Shape, N>& strides, const Visit& visit) {
  const size_t rank = shape.size();
  const int64_t count = elements(shape);
  std::vector<int64_t> index(rank, 0);
  std::array<int64_t, N> offset{};
  for (int64_t i = 0; i < count; ++i) {
    std::apply(visit, offset);
    for (size_t d = rank; d-- > 0;) {
      for (size_t k = 0; k < N; ++k) offset[k] += strides[k][d];
      if (++index[d] < shape[d]) break;
      for (size_t k = 0; k < N; ++k) offset[k] -= strides[k][d] * shape[d];
      index[d] = 0;
    }
  }
}

/// Calls body(T{}) with the arithmetic type of `dtype`.
template <typename Body>
void with_number(const Node& node, DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f32:
      return body(float{});
    case DType::i64:
      return body(int64_t{});
    case DType::i32:
      return body(int32_t{});
    default:
      refuse(node, "no arithmetic on this type", "f32, i64 or i32", std::string(name_of(dtype)));
  }
}

/// function(a, b) for every element of two tensors that broadcast, or of a tensor and the scalar
/// {other}.
template <typename Function>
void evaluate_binary(const Node& node, std::span<const TensorView> in,
                     std::span<const TensorView> out, const Function& function) {
  with_number(node, in[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* a = in[0].as<T>();
    using R = decltype(function(T{}, T{}));
    auto* result = out[0].as<R>();
    if (in.size() == 1) {
      const T other = static_cast<T>(node.attributes.real("other"));
      const int64_t count = elements(out[0].shape);
      for (int64_t i = 0; i < count; ++i) result[i] = function(a[i], other);
      return;
    }
    const T* b = in[1].as<T>();
    const Shape& shape = out[0].shape;
    for_each<2>(shape,
                {broadcast_strides(in[0].shape, shape), broadcast_strides(in[1].shape, shape)},
                [&](int64_t i, int64_t j) { *result++ = function(a[i], b[j]); });
  });
}

}  // namespace lathe::rules
