// Operators that multiply matrices. Float64 sums: an accurate yardstick for faster executors.

#include "graph/operators/rules.h"

namespace lathe::rules {
namespace {

using Types = std::span<const TensorType>;
using Views = std::span<const TensorView>;

bool nothing(int) { return false; }
bool all_but_first(int index) { return index > 0; }

// --- linear(x [..., K], weight [N, K], bias [N]?) -> [..., N]

std::vector<TensorType> infer_linear(const Node& node, Types inputs) {
  const Shape& x = inputs[0].shape;
  const Shape& weight = inputs[1].shape;
  if (weight.size() != 2 || x.empty() || x.back() != weight[1]) {
    refuse(node, "the weight does not fit the input", to_string(x), to_string(weight));
  }
  if (inputs.size() == 3 && inputs[2].shape != Shape{weight[0]}) {
    refuse(node, "the bias does not fit the weight", to_string(Shape{weight[0]}),
           to_string(inputs[2].shape));
  }
  TensorType type = inputs[0];
  type.shape.back() = weight[0];
  return {type};
}

void evaluate_linear(const Node&, Views in, Views out) {
  const int64_t width = in[1].shape[1];     // K
  const int64_t channels = in[1].shape[0];  // N
  const int64_t rows = elements(in[0].shape) / width;
  const float* bias = in.size() == 3 ? in[2].as<float>() : nullptr;
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = in[0].as<float>() + r * width;
    for (int64_t n = 0; n < channels; ++n) {
      const float* w = in[1].as<float>() + n * width;
      double sum = bias == nullptr ? 0.0 : bias[n];
      for (int64_t k = 0; k < width; ++k) sum += static_cast<double>(x[k]) * w[k];
      out[0].as<float>()[r * channels + n] = static_cast<float>(sum);
    }
  }
}

// --- conv2d(x [B, K, H, W], weight [N, K, 1, 1], bias [N]?) -> [B, N, H, W]: a linear over the
//     second dimension, in the form that NPUs have units for

std::vector<TensorType> infer_conv2d(const Node& node, Types inputs) {
  const Shape& x = inputs[0].shape;
  const Shape& weight = inputs[1].shape;
  if (x.size() != 4 || weight.size() != 4 || weight != Shape{weight[0], x[1], 1, 1}) {
    refuse(node, "the weight is not 1x1 or does not fit the input", to_string(x),
           to_string(weight));
  }
  if (inputs.size() == 3 && inputs[2].shape != Shape{weight[0]}) {
    refuse(node, "the bias does not fit the weight", to_string(Shape{weight[0]}),
           to_string(inputs[2].shape));
  }
  TensorType type = inputs[0];
  type.shape[1] = weight[0];
  return {type};
}

void evaluate_conv2d(const Node&, Views in, Views out) {
  const Shape& x = in[0].shape;
  const int64_t width = x[1];                // K
  const int64_t places = x[2] * x[3];        // H * W
  const int64_t channels = out[0].shape[1];  // N
  const float* bias = in.size() == 3 ? in[2].as<float>() : nullptr;
  for (int64_t b = 0; b < x[0]; ++b) {
    const float* from = in[0].as<float>() + b * width * places;
    float* to = out[0].as<float>() + b * channels * places;
    for (int64_t n = 0; n < channels; ++n) {
      const float* w = in[1].as<float>() + n * width;
      for (int64_t p = 0; p < places; ++p) {
        double sum = bias == nullptr ? 0.0 : bias[n];
        for (int64_t k = 0; k < width; ++k) sum += static_cast<double>(from[k * places + p]) * w[k];
        to[n * places + p] = static_cast<float>(sum);
      }
    }
  }
}

// --- matmul(a [..., M, K], b [..., K, N]) -> [..., M, N]; the leading dimensions are equal

std::vector<TensorType> infer_matmul(const Node& node, Types inputs) {
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  const size_t rank = a.size();
  const bool fits = rank >= 2 && b.size() == rank && a[rank - 1] == b[rank - 2] &&
                    Shape(a.begin(), a.end() - 2) == Shape(b.begin(), b.end() - 2);
  if (!fits) refuse(node, "the operands do not fit", to_string(a), to_string(b));
  TensorType type = inputs[0];
  type.shape.back() = b.back();
  return {type};
}

void evaluate_matmul(const Node&, Views in, Views out) {
  const size_t rank = in[0].shape.size();
  const int64_t m = in[0].shape[rank - 2];
  const int64_t k = in[0].shape[rank - 1];
  const int64_t n = in[1].shape[rank - 1];
  const int64_t batches = m * n == 0 ? 0 : elements(out[0].shape) / (m * n);
  for (int64_t batch = 0; batch < batches; ++batch) {
    const float* a = in[0].as<float>() + batch * m * k;
    const float* b = in[1].as<float>() + batch * k * n;
    float* c = out[0].as<float>() + batch * m * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (int64_t x = 0; x < k; ++x) sum += static_cast<double>(a[i * k + x]) * b[x * n + j];
        c[i * n + j] = static_cast<float>(sum);
      }
    }
  }
}

const OperatorRule kRules[] = {
    {Op::conv2d, "aten.conv2d", "conv2d", 2, 3, EncodingRule::computes, nothing, infer_conv2d,
     evaluate_conv2d, all_but_first},
    {Op::linear, "aten.linear", "linear", 2, 3, EncodingRule::computes, nothing, infer_linear,
     evaluate_linear, all_but_first},
    {Op::matmul, "aten.matmul", "matmul", 2, 2, EncodingRule::computes, nothing, infer_matmul,
     evaluate_matmul},
};

}  // namespace

std::span<const OperatorRule> products() { return kRules; }

}  // namespace lathe::rules
