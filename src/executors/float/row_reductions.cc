#include "executors/float/row_reductions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "executors/float/float_exp.h"
#include "executors/float/parallel_loop.h"

namespace lathe {
namespace {

constexpr size_t kLanes = 16;

/// Folds x[0..width) into kLanes interleaved lanes that begin as `start`.
template <typename T, typename Fold>
std::array<T, kLanes> fold_lanes(const float* x, int64_t width, T start, const Fold& fold) {
  std::array<T, kLanes> lanes;
  lanes.fill(start);
  const auto count = static_cast<size_t>(width);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = fold(lanes[lane], x[i + lane]);
  }
  for (size_t lane = 0; i < count; ++i, ++lane) lanes[lane] = fold(lanes[lane], x[i]);
  return lanes;
}

template <typename Term>
double sum(const float* x, int64_t width, const Term& term) {
  double total = 0.0;
  for (const double lane :
       fold_lanes(x, width, 0.0, [&](double sum, float v) { return sum + term(v); })) {
    total += lane;
  }
  return total;
}

/// choose(a, b) gives one of both: the larger, the smaller.
template <typename Choose>
float extreme(const float* x, int64_t width, const Choose& choose) {
  float result = x[0];
  for (const float lane : fold_lanes(x, width, x[0], choose)) result = choose(result, lane);
  return result;
}

float highest(const float* x, int64_t width) {
  return extreme(x, width, [](float a, float b) { return a < b ? b : a; });
}

float lowest(const float* x, int64_t width) {
  return extreme(x, width, [](float a, float b) { return b < a ? b : a; });
}

void softmax_row(const float* x, int64_t width, float* y) {
  const float top = highest(x, width);
  for (int64_t i = 0; i < width; ++i) y[i] = float_exp(x[i] - top);
  const auto total = static_cast<float>(sum(y, width, [](float v) { return double{v}; }));
  for (int64_t i = 0; i < width; ++i) y[i] /= total;
}

void masked_softmax_row(const float* x, const float* mask, int64_t width, float below, float* y) {
  const float masked = lowest(x, width) - below;
  for (int64_t i = 0; i < width; ++i) y[i] = mask[i] == 0.0f ? x[i] : masked;
  softmax_row(y, width, y);
}

void rms_norm_row(const float* x, const float* weight, int64_t width, float eps, float* y) {
  const double squares = sum(x, width, [](float v) { return double{v * v}; });
  const auto mean = static_cast<float>(squares / static_cast<double>(width));
  const float scale = 1.0f / std::sqrt(mean + eps);
  for (int64_t i = 0; i < width; ++i) y[i] = weight[i] * (x[i] * scale);
}

void hadamard_row(const float* x, int64_t width, float* y) {
  std::copy_n(x, width, y);
  for (int64_t half = 1; half < width; half *= 2) {
    for (int64_t first = 0; first < width; first += 2 * half) {
      for (int64_t i = first; i < first + half; ++i) {
        const float a = y[i];
        const float b = y[i + half];
        y[i] = a + b;
        y[i + half] = a - b;
      }
    }
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(width));
  for (int64_t i = 0; i < width; ++i) y[i] *= scale;
}

/// Calls row(x, width, y) for every row of the last dimension.
template <typename Row>
void for_each_row(const TensorView& input, const TensorView& output, ThreadPool& threads,
                  const Row& row) {
  const int64_t width = output.shape.back();
  if (width == 0) return;
  threads.split(elements(output.shape) / width, rows_per_task(width),
                [&](int64_t begin, int64_t end) {
                  for (int64_t r = begin; r < end; ++r) {
                    row(input.as<float>() + r * width, width, output.as<float>() + r * width);
                  }
                });
}

}  // namespace

void softmax(const TensorView& input, const TensorView& output, ThreadPool& threads) {
  for_each_row(input, output, threads, softmax_row);
}

bool masked_softmax(const Node& node, const TensorView& scores, const TensorView& mask,
                    const TensorView& output, ThreadPool& threads) {
  const Shape& shape = scores.shape;  // [..., rows, width]
  const size_t rank = shape.size();
  if (rank < 2 || mask.shape.size() != rank || mask.shape[rank - 2] != shape[rank - 2] ||
      elements(mask.shape) != shape[rank - 2] * shape[rank - 1]) {
    return false;
  }
  const auto below = static_cast<float>(node.attributes.real("below"));
  for_each_row(scores, output, threads, [&](const float* x, int64_t width, float* y) {
    const int64_t row = (x - scores.as<float>()) / width % shape[rank - 2];
    masked_softmax_row(x, mask.as<float>() + row * width, width, below, y);
  });
  return true;
}

void rms_norm(const Node& node, const TensorView& input, const TensorView& weight,
              const TensorView& output, ThreadPool& threads) {
  const auto eps = static_cast<float>(node.attributes.real("eps"));
  for_each_row(input, output, threads, [&](const float* x, int64_t width, float* y) {
    rms_norm_row(x, weight.as<float>(), width, eps, y);
  });
}

void hadamard(const TensorView& input, const TensorView& output, ThreadPool& threads) {
  for_each_row(input, output, threads, hadamard_row);
}

}  // namespace lathe
