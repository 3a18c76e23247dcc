#pragma once

#include <cstdint>

namespace lathe {

/// Every operator a graph may hold. The first group is what torch.export records from Hugging
/// Face's modeling code, by ATen's names; the second is Lathe's own. operators.h has the rules of
/// each.
enum class Op : uint8_t {
  // movement: the output holds the input's numbers in another order or shape
  alias,
  cat,
  chunk,
  copy_,
  detach_,
  dropout,
  embedding,
  expand,
  getitem,
  index_copy_,
  lift_fresh_copy,
  permute,
  reshape,
  select,
  slice,
  to,
  transpose,
  type_as,
  unsqueeze,
  view,
  // making
  arange,
  new_ones,
  zeros,
  // arithmetic
  add,
  add_,
  and_,
  cos,
  div,
  gelu,
  gt,
  le,
  max,
  mean,
  mul,
  neg,
  pow,
  reciprocal,
  rsqrt,
  sigmoid,
  silu,
  sin,
  softmax,
  sub,
  tanh,
  where,
  // products
  conv2d,
  linear,
  matmul,
  // Lathe's own
  dequantize,
  hadamard,
  masked_softmax,
  quantize,
  requantize,
  rms_norm,
};
inline constexpr int kOpCount = static_cast<int>(Op::rms_norm) + 1;

}  // namespace lathe
