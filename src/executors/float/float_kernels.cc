#include "executors/float/float_kernels.h"

#include <algorithm>

#include "executors/float/elementwise.h"
#include "executors/float/movement.h"
#include "executors/float/row_reductions.h"
#include "executors/reference/integer.h"

namespace lathe {

bool FloatKernels::reads_source(const Graph& graph, const Node& node, size_t input) const {
  if (node.op == Op::linear && input == 1) return !computes_on_codes(graph, node);
  return ReferenceKernels::reads_source(graph, node, input);
}

void FloatKernels::evaluate(const Graph& graph, const Node& node,
                            std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) {
  if (!evaluate_fast(graph, node, inputs, outputs[0])) {
    ReferenceKernels::evaluate(graph, node, inputs, outputs);
  }
}

/// False where there is no fast form.
bool FloatKernels::evaluate_fast(const Graph& graph, const Node& node,
                                 std::span<const TensorView> inputs, const TensorView& output) {
  switch (node.op) {
    case Op::cat:
      concatenate(node, inputs, output, threads_);
      return true;
    case Op::expand:
    case Op::permute:
    case Op::select:
    case Op::slice:
    case Op::transpose:
      gather(node, inputs[0], output, threads_);
      return true;
    default:
      break;
  }
  const auto is_float = [](const TensorView& view) { return view.dtype == DType::f32; };
  if (!std::all_of(inputs.begin(), inputs.end(), is_float)) return false;
  switch (node.op) {
    case Op::add:
    case Op::add_:
    case Op::mul:
    case Op::neg:
    case Op::sigmoid:
    case Op::silu:
    case Op::sub:
      elementwise(node, inputs, output, threads_);
      return true;
    case Op::hadamard:
      hadamard(inputs[0], output, threads_);
      return true;
    case Op::masked_softmax:
      return masked_softmax(node, inputs[0], inputs[1], output, threads_);
    case Op::softmax:
      softmax(inputs[0], output, threads_);
      return true;
    case Op::rms_norm:
      rms_norm(node, inputs[0], inputs[1], output, threads_);
      return true;
    case Op::linear:
      products_.linear(graph.value(node.inputs[1]), inputs, output);
      return true;
    case Op::matmul:
      products_.matmul(inputs[0], inputs[1], output);
      return true;
    default:
      return false;
  }
}

}  // namespace lathe
