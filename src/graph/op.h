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
  copy_,
  dropout,
  embedding,
  expand,
  index_copy_,
  permute,
  reshape,
  select,
  slice,
  to,
  transpose,
  unsqueeze,
  view,
  // making
  arange,
  zeros,
  // arithmetic
  add,
  add_,
  cos,
  le,
  mean,
  mul,
  neg,
  pow,
  rsqrt,
  sigmoid,
  silu,
  sin,
  softmax,
  sub,
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
