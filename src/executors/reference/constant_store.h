#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "executors/reference/buffer_pool.h"
#include "graph/graph.h"

namespace lathe {

/// A tensor in memory together with what keeps that memory alive (null: somebody outside does).
struct HeldTensor {
  TensorView view;
  std::shared_ptr<std::byte> owner;
};

/// Puts the constants of a graph into memory when a node needs them. Bytes are viewed where they
/// are. Floats are read from their source each time, but for the first `budget` bytes of them.
class ConstantStore {
 public:
  explicit ConstantStore(int64_t budget) : budget_(budget) {}

  /// Whether floats of this constant are or will be kept.
  bool keeps(const Value& value) const;
  /// The view has the value's shape; packed bytes lie behind it as they are.
  HeldTensor get(const Value& value, BufferPool& pool);

 private:
  int64_t budget_;
  std::unordered_map<const FloatSource*, std::shared_ptr<std::byte>> kept_;
};

}  // namespace lathe
