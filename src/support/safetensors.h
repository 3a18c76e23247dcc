#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/tensor.h"

namespace lathe {

/// The safetensors container, https://github.com/huggingface/safetensors#format: eight bytes of
/// header length, a JSON header, then the tensors back to back without holes.

/// Tensors start at multiples of this many bytes in the files that SafetensorsWriter makes.
inline constexpr size_t kSafetensorsAlignment = 64;

/// One tensor of a file, as its header describes it; checked against the size of the file.
struct SafetensorsEntry {
  std::string name;
  std::string type;            ///< as the file spells it: "BF16"
  std::optional<DType> dtype;  ///< nothing: a valid type without a counterpart here, such as F64
  Shape shape;
  size_t begin = 0;  ///< first byte, counted from the start of the file; of any alignment
  size_t size = 0;   ///< bytes
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        ///< sorted by name
  std::map<std::string, std::string> metadata;  ///< the `__metadata__` entry
};

/// Reads and checks the header of a whole file in memory. Throws Error for anything that the format
/// does not allow: a wrong length, invalid JSON, a name given twice, an unknown type, a size that
/// does not follow from shape and type, overlaps, holes, bytes left over. `where` names the file.
/// Filler tensors that SafetensorsWriter put in for alignment are left out.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& where);

/// A safetensors file mapped into memory.
class SafetensorsFile {
 public:
  /// Throws Error as parse_safetensors does.
  static SafetensorsFile open(const std::filesystem::path& path);

  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const MappedFile& file() const { return file_; }

  /// Nullptr where there is no such tensor.
  const SafetensorsEntry* find(std::string_view name) const;
  /// Throws Error where there is no such tensor.
  const SafetensorsEntry& get(std::string_view name) const;
  /// The bytes of a tensor of this file.
  std::span<const std::byte> bytes(const SafetensorsEntry& entry) const {
    return file_.bytes().subspan(entry.begin, entry.size);
  }

 private:
  MappedFile file_;
  SafetensorsHeader header_;
};

/// A tensor that a SafetensorsWriter is going to write.
struct SafetensorsDeclaration {
  std::string name;
  DType dtype = DType::f32;  ///< any but i4, which the format does not have
  Shape shape;
};

/// Writes a safetensors file as a stream: the header comes from the declarations, then the bytes
/// follow in the declared order. Every tensor is aligned to kSafetensorsAlignment; since the format
/// knows no holes, the gaps are small U8 tensors named "__padding.N".
class SafetensorsWriter {
 public:
  /// Sees every byte of the file in order: header, tensors and fillers.
  using Observer = std::function<void(std::span<const std::byte>)>;

  /// Writes the header. Throws Error where the file cannot be written, std::logic_error for a name
  /// declared twice.
  SafetensorsWriter(const std::filesystem::path& path,
                    const std::map<std::string, std::string>& metadata,
                    std::vector<SafetensorsDeclaration> tensors, Observer observer = {});

  /// Appends bytes to tensor `name`, which must be the first one that is not complete.
  void write(std::string_view name, std::span<const std::byte> bytes);
  /// Puts the file in its place; before that the path keeps what it had. Every declared tensor must
  /// be complete.
  void commit();

 private:
  void put(std::span<const std::byte> bytes);
  void finish_complete_tensors();

  OutputFile output_;
  Observer observer_;
  std::vector<SafetensorsDeclaration> tensors_;
  size_t current_ = 0;  // the tensor being written
  size_t done_ = 0;     // bytes of it that are written
};

}  // namespace lathe
