#include "graph/head_rotation.h"

#include <utility>
#include <vector>

#include "support/orthogonal.h"

namespace lathe {

std::shared_ptr<const Constant> head_rotation(int64_t head_dim) {
  // Product weights are [out, in]: the transpose of Q, whose columns are the rows of I Q side by
  // side.
  const auto size = static_cast<size_t>(head_dim);
  std::vector<float> weight(size * size, 0.0f);
  for (size_t i = 0; i < size; ++i) weight[i * size + i] = 1.0f;
  Orthogonal(head_dim).apply(weight.data(), head_dim, head_dim);
  return float_constant("head_rotation", std::move(weight));
}

}  // namespace lathe
