#include "executors/reference/reference_kernels.h"

#include <algorithm>

#include "executors/reference/integer.h"
#include "graph/operators.h"

namespace lathe {
namespace {

/// embedding(table [rows, width], ids [...]) -> [..., width], from a table that is not in memory.
void read_embedding_rows(const FloatSource& table, int64_t rows, const TensorView& ids,
                         const TensorView& out) {
  const int64_t width = out.shape.back();
  const int64_t count = elements(ids.shape);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids.dtype == DType::i64 ? ids.as<int64_t>()[i] : ids.as<int32_t>()[i];
    // Ids are checked where they enter; a wrong one must still not read outside the table.
    const int64_t row = std::clamp<int64_t>(id, 0, rows - 1);
    table.read(row * width, width, out.as<float>() + i * width);
  }
}

}  // namespace

bool ReferenceKernels::reads_source(const Graph&, const Node& node, size_t input) const {
  return node.op == Op::embedding && input == 0;
}

void ReferenceKernels::evaluate(const Graph& graph, const Node& node,
                                std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs) {
  if (node.op == Op::embedding && inputs[0].data == nullptr) {
    const Value& table = graph.value(node.inputs[0]);
    read_embedding_rows(*table.constant->floats, table.shape[0], inputs[1], outputs[0]);
  } else if (computes_on_codes(graph, node)) {
    evaluate_on_codes(graph, node, inputs, outputs);
  } else {
    rule_of(node.op).evaluate(node, inputs, outputs);
  }
}

}  // namespace lathe
