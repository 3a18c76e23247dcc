#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Numbers in memory, row-major.
struct ConstantTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
};

/// The numbers of values that are the same in every call: float constants, and what is computed
/// from them. They are read and computed when they are asked for.
class ConstantValues {
 public:
  explicit ConstantValues(const Graph& graph) : graph_(graph) {}

  /// `value` is taken for these numbers from now on; their shape may be another than its own.
  void assume(ValueId value, ConstantTensor numbers);
  bool is_known(ValueId value);
  /// Nothing where the value depends on an input.
  std::optional<ConstantTensor> find(ValueId value);

 private:
  ConstantTensor compute(const Node& node);

  const Graph& graph_;
  std::map<ValueId, bool> known_;
  std::map<ValueId, ConstantTensor> numbers_;
};

}  // namespace lathe
