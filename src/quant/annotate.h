#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "quant/groups.h"
#include "quant/recipe.h"

namespace lathe {

/// Where the encoding of a group comes from (docs/numerics.md).
enum class GroupKind : uint8_t {
  activation,      ///< affine over the joint range of its members
  keys_or_values,  ///< what a cache holds: u8 symmetric, or u16 affine with 16-bit KV
  mask,            ///< the fixed encoding of attention masks
  unit,            ///< the fixed encoding of numbers in [0, 1]
  rotary           ///< cos and sin tables: [-1, 1], or what the table reaches beyond that
};

/// Which values share an encoding, and of which kind it is.
struct Annotation {
  Groups groups;
  std::vector<GroupKind> kinds;  ///< by group
};

/// Prepares a float graph for quantization and says what each value will be.
///
/// Purely structural and independent of node order: groups follow the operators that move codes;
/// a group that holds a cache input, or that an attention product (a matmul of two activations)
/// takes as its second operand, holds keys or values. Where such a group has another encoding than
/// the node that computes its numbers would give them, a `requantize` node is inserted directly
/// after that node: linear(16) -> requantize(8) -> view(8) -> transpose(8) -> cat(8). A weight that
/// is also used in another way (tied embeddings) becomes a value of its own.
///
/// The same nodes and values are added, with the same ids, in every role of a model. Throws Error
/// where an attention mask shares an encoding with something else.
Annotation annotate(Graph& graph, const Recipe& recipe);

}  // namespace lathe
