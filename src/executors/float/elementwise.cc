#include "executors/float/elementwise.h"

#include "executors/float/float_exp.h"
#include "executors/float/parallel_loop.h"

namespace lathe {
namespace {

template <typename Function>
void map(const TensorView& input, const TensorView& output, ThreadPool& threads,
         const Function& function) {
  const float* x = input.as<float>();
  float* y = output.as<float>();
  threads.split(elements(output.shape), kElementsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = function(x[i]);
  });
}

/// Strides for reading a tensor at the coordinates of the shape it broadcasts to.
Shape strides_at(const TensorView& view, const Shape& shape) {
  Shape strides(shape.size(), 0);
  const size_t lead = shape.size() - view.shape.size();
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] != 1) strides[lead + d] = view.strides[d];
  }
  return strides;
}

template <typename Function>
void combine(std::span<const TensorView> inputs, const TensorView& output, ThreadPool& threads,
             const Function& function) {
  const Shape& shape = output.shape;
  const StridedLoop<3> loop(
      shape, {strides_at(inputs[0], shape), strides_at(inputs[1], shape), output.strides});
  const auto [a_step, b_step, y_step] = loop.steps();
  parallel_runs(threads, loop, [&](const StridedLoop<3>::Offsets& at, int64_t count) {
    const float* a = inputs[0].as<float>() + at[0];
    const float* b = inputs[1].as<float>() + at[1];
    float* y = output.as<float>() + at[2];
    // The three forms that occur; each is a loop that vectorizes.
    if (a_step == 1 && b_step == 1) {
      for (int64_t i = 0; i < count; ++i) y[i] = function(a[i], b[i]);
    } else if (a_step == 1 && b_step == 0) {
      for (int64_t i = 0; i < count; ++i) y[i] = function(a[i], *b);
    } else {
      for (int64_t i = 0; i < count; ++i) y[i] = function(a[i * a_step], b[i * b_step]);
    }
  });
}

template <typename Function>
void scalar_or_tensor(const Node& node, std::span<const TensorView> inputs,
                      const TensorView& output, ThreadPool& threads, const Function& function) {
  if (inputs.size() == 2) return combine(inputs, output, threads, function);
  const auto other = static_cast<float>(node.attributes.real("other"));
  map(inputs[0], output, threads, [&](float x) { return function(x, other); });
}

}  // namespace

void elementwise(const Node& node, std::span<const TensorView> inputs, const TensorView& output,
                 ThreadPool& threads) {
  switch (node.op) {
    case Op::neg:
      return map(inputs[0], output, threads, [](float x) { return -x; });
    case Op::sigmoid:
      return map(inputs[0], output, threads, [](float x) { return 1.0f / (1.0f + float_exp(-x)); });
    case Op::silu:
      return map(inputs[0], output, threads, [](float x) { return x / (1.0f + float_exp(-x)); });
    case Op::mul:
      return scalar_or_tensor(node, inputs, output, threads,
                              [](float a, float b) { return a * b; });
    case Op::sub:
      return scalar_or_tensor(node, inputs, output, threads,
                              [](float a, float b) { return a - b; });
    default:
      return scalar_or_tensor(node, inputs, output, threads,
                              [](float a, float b) { return a + b; });
  }
}

}  // namespace lathe
