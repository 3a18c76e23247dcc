#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

/// A tensor type of GGML: rows are cut into blocks of `block` values, each stored in `bytes` bytes.
/// The layouts are those of ggml-common.h, https://github.com/ggml-org/ggml.
struct GgmlType {
  uint32_t id;  ///< as GGUF files number it
  std::string_view name;
  int64_t block;
  int64_t bytes;
  /// Widens whole blocks to float32, in the arithmetic and the order of GGML's own code, so that
  /// every value is bit-equal to its. `in` holds the blocks of `out`, at any alignment.
  void (*widen)(const std::byte* in, std::span<float> out);
};

/// The type with this id, or nullptr where it is not one that Lathe reads.
const GgmlType* find_ggml_type(uint32_t id);

/// For error messages: the names of all types that Lathe reads.
std::string ggml_types_read();

/// For error messages: the name of any type that GGML has, read by Lathe or not; else "type N".
std::string ggml_type_name(uint32_t id);

}  // namespace lathe
