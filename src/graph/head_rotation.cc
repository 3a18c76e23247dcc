#include "graph/head_rotation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/orthogonal.h"

namespace lathe {
namespace {

/// Its type is what is_head_rotation asks for.
class RotationFloats final : public FloatSource {
 public:
  explicit RotationFloats(std::vector<float> weight) : weight_(std::move(weight)) {}
  void read(int64_t begin, int64_t count, float* out) const override {
    std::copy_n(weight_.begin() + begin, count, out);
  }

 private:
  std::vector<float> weight_;  // [head_dim, head_dim]
};

}  // namespace

std::shared_ptr<const Constant> head_rotation(int64_t head_dim) {
  // Product weights are [out, in]: the transpose of Q, whose columns are the rows of I Q side by
  // side.
  const auto size = static_cast<size_t>(head_dim);
  std::vector<float> weight(size * size, 0.0f);
  for (size_t i = 0; i < size; ++i) weight[i * size + i] = 1.0f;
  Orthogonal(head_dim).apply(weight.data(), head_dim, head_dim);
  auto constant = std::make_shared<Constant>();
  constant->name = "head_rotation";
  constant->byte_count = static_cast<int64_t>(weight.size() * sizeof(float));
  constant->floats = std::make_shared<RotationFloats>(std::move(weight));
  return constant;
}

bool is_head_rotation(const Constant& constant) {
  return dynamic_cast<const RotationFloats*>(constant.floats.get()) != nullptr;
}

}  // namespace lathe
