#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace lathe {

/// What an operator is to the machine that runs it.
enum class OperatorKind : uint8_t {
  products,     ///< matrices: linear, conv2d, matmul, hadamard
  elementwise,  ///< arithmetic, activations, norms, softmax
  movement,     ///< reshapes, concatenations, slices, lookups
  casts,        ///< changes of type or encoding
  making        ///< tensors from nothing: ranges, zeros
};
inline constexpr int kOperatorKinds = static_cast<int>(OperatorKind::making) + 1;

OperatorKind kind_of(Op op);
/// "matrix products", ...
std::string_view name_of(OperatorKind kind);

/// Multiplications, each with an addition, of a matrix product over all rows of one call; 0 for
/// every other operator.
int64_t multiply_adds(const Graph& graph, const Node& node);

/// What a graph is made of, and the bytes that one call of it moves.
struct GraphSummary {
  std::map<std::string, int64_t> operators;     ///< count of each, by name
  std::array<int64_t, kOperatorKinds> kinds{};  ///< the same by OperatorKind
  /// Constants that nodes read, each once as it is stored. Of a table that is looked up (an
  /// embedding, cos and sin) only the rows that one call picks.
  int64_t weight_bytes = 0;
  int64_t kv_bytes_in = 0;  ///< inputs that hold keys or values
  /// The same if no layer slid: what a ring of slots saves is the difference.
  int64_t kv_bytes_full_context = 0;
  int64_t kv_bytes_out = 0;    ///< outputs that hold keys or values
  int64_t boundary_bytes = 0;  ///< all other inputs and outputs: ids, mask, position, logits
  /// Values that nodes hand to nodes, each once; without those that are their input's memory under
  /// another shape. It counts what the graph says: an executor that folds nodes into one moves
  /// less.
  int64_t activation_bytes = 0;

  int64_t operator_count() const;
};

GraphSummary summarize(const Graph& graph);

}  // namespace lathe
