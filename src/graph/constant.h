#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/tensor.h"

namespace lathe {

/// Float numbers that stay where they are (a mapped checkpoint) until an executor or a quantizer
/// wants them, so that a model is never held in memory as float32 in full.
class FloatSource {
 public:
  virtual ~FloatSource() = default;
  /// Writes elements [begin, begin + count) of the row-major tensor. `begin` and `count` are
  /// multiples of the last dimension. Safe to call from several threads.
  virtual void read(int64_t begin, int64_t count, float* out) const = 0;
};

/// How the bytes of a constant lie in memory.
enum class Layout : uint8_t {
  rows,   ///< row-major
  packed  ///< src/graph/packed_weights.h: the order that the matrix kernels read
};

/// The data of a constant value. Exactly one of `floats` and `bytes` is set. Shared by all graphs
/// of a model that use the same weight; `name` is the key by which an artifact stores it once.
struct Constant {
  std::string name;  ///< "model.layers.0.self_attn.q_proj.weight"
  Layout layout = Layout::rows;
  std::shared_ptr<const FloatSource> floats;
  std::shared_ptr<const std::byte> bytes;
  int64_t byte_count = 0;
};

/// A float constant held in memory.
std::shared_ptr<const Constant> float_constant(std::string name, std::vector<float> values);
/// Memory from a multiple of 64 bytes on, which matrix kernels ask of packed weights.
std::shared_ptr<std::byte> aligned_bytes(int64_t count);
/// A constant of codes; shares `bytes`.
std::shared_ptr<const Constant> code_constant(std::string name, Layout layout,
                                              std::shared_ptr<const std::byte> bytes,
                                              int64_t byte_count);
/// A constant of another type held in memory; takes over `bytes`.
std::shared_ptr<const Constant> bytes_constant(std::string name, std::vector<std::byte> bytes,
                                               Layout layout = Layout::rows);

}  // namespace lathe
