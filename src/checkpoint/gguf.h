#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checkpoint/ggml_types.h"
#include "support/tensor.h"

namespace lathe {

/// The GGUF container, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3:
/// typed key-value metadata, tensor descriptions, then tensor data.

/// An array of the metadata, checked but still in the file. Strings have views; arrays of arrays
/// have no elements here, since no key that Lathe reads is one.
struct GgufArray {
  uint32_t type = 0;  ///< of the elements, as the file numbers it
  uint64_t count = 0;
  std::span<const std::byte> bytes;       ///< of numbers
  std::vector<std::string_view> strings;  ///< of strings
};

using GgufValue = std::variant<int64_t, uint64_t, float, double, bool, std::string_view, GgufArray>;

struct GgufTensor {
  std::string_view name;
  const GgmlType* type = nullptr;
  Shape shape;  ///< outermost dimension first, the reverse of the file's order
  std::span<const std::byte> bytes;
};

/// The checked contents of a GGUF file. Its views point into the bytes it was read from.
class Gguf {
 public:
  /// Throws Error for anything that is not well formed; `where` names the file. Allocates no more
  /// than a small multiple of the size of the header.
  static Gguf parse(std::span<const std::byte> file, const std::string& where);

  /// Takes the tensors of another part of a split file. Throws Error where one is there already.
  void add_tensors_of(const Gguf& part);

  const std::vector<GgufTensor>& tensors() const { return tensors_; }  ///< sorted by name
  const GgufTensor* find_tensor(std::string_view name) const;
  const std::map<std::string_view, GgufValue>& metadata() const { return metadata_; }
  const std::string& where() const { return where_; }

  /// The value of a key, or nothing where it is absent. Each throws Error for a value of another
  /// type, or text that is not UTF-8.
  /// An array of equal numbers counts as that number: a per-layer setting that does not vary.
  std::optional<int64_t> integer(std::string_view key) const;
  /// A float32 gives the double with its shortest decimal form: 1e-05, not 9.999999747378752e-06.
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> string(std::string_view key) const;
  const std::vector<std::string_view>* strings(std::string_view key) const;
  /// Arrays of 32-bit integers and of float32.
  std::optional<std::vector<int32_t>> integers(std::string_view key) const;
  std::optional<std::vector<float>> floats(std::string_view key) const;

 private:
  const GgufValue* find(std::string_view key) const;
  void sort_tensors();
  [[noreturn]] void wrong_type(std::string_view key, const char* expected) const;
  template <typename T>
  std::optional<std::vector<T>> numbers(std::string_view key, std::span<const uint32_t> types,
                                        const char* expected) const;

  std::string where_;
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<GgufTensor> tensors_;
};

/// The double that has the shortest decimal form of a float32, which is what its author wrote.
double as_written(float value);

}  // namespace lathe
