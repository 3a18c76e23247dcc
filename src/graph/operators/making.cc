// Operators that make small integer tensors: positions and masks of a graph as it was traced.

#include <algorithm>

#include "graph/operators/rules.h"

namespace lathe::rules {
namespace {

using Types = std::span<const TensorType>;
using Views = std::span<const TensorView>;

bool nothing(int) { return false; }

std::vector<TensorType> infer_arange(const Node& node, Types) {
  return {{DType::i64, {node.attributes.integer("end")}}};
}

void evaluate_arange(const Node&, Views, Views out) {
  for (int64_t i = 0; i < out[0].shape[0]; ++i) out[0].as<int64_t>()[i] = i;
}

std::vector<TensorType> infer_zeros(const Node& node, Types) {
  return {{DType::f32, node.attributes.integers("sizes")}};
}

void evaluate_zeros(const Node&, Views, Views out) {
  std::fill_n(out[0].as<float>(), elements(out[0].shape), 0.0f);
}

const OperatorRule kRules[] = {
    {Op::arange, "aten.arange", "arange", 0, 0, EncodingRule::none, nothing, infer_arange,
     evaluate_arange},
    {Op::zeros, "aten.zeros", "zeros", 0, 0, EncodingRule::none, nothing, infer_zeros,
     evaluate_zeros},
};

}  // namespace

std::span<const OperatorRule> making() { return kRules; }

}  // namespace lathe::rules
