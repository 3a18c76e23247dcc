#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/safetensors.h"

namespace lathe {

// The outside of model.lathe: a safetensors file with two checksums. Inside of it,
//   header | small tensors | lathe.checksum | weights | lathe.weights_checksum
// where each checksum covers the bytes from the one before it (or the start of the file) to itself.

/// Raised whenever a file that was written before can no longer be read.
inline constexpr int64_t kArtifactVersion = 3;

inline constexpr std::string_view kVersionKey = "lathe.format_version";
inline constexpr std::string_view kChecksumName = "lathe.checksum";
inline constexpr std::string_view kWeightsChecksumName = "lathe.weights_checksum";

inline constexpr std::string_view kDamagedAdvice = "the file is damaged; compile the model again";

/// A tensor to be written; owns nothing.
struct StoredTensor {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;
  std::span<const std::byte> bytes;
};

/// Writes the file with the version and the checksums added. Throws Error for a name given twice or
/// one that the container keeps for itself.
void write_container(const std::filesystem::path& path, std::map<std::string, std::string> metadata,
                     const std::vector<StoredTensor>& small,
                     const std::vector<StoredTensor>& weights);

/// The 64 bytes of a checksum tensor over `bytes`.
std::string checksum_text(std::span<const std::byte> bytes);

/// A file that write_container made, mapped into memory.
class Container {
 public:
  /// Checks version and checksum, weights excepted. Throws Error with advice of its own for a
  /// checkpoint, which has to be compiled first.
  static Container open(const std::filesystem::path& path);

  /// Throws Error where there is none of that name.
  const std::string& metadata(std::string_view key) const;
  const SafetensorsEntry* find(std::string_view name) const { return file_.find(name); }
  std::span<const std::byte> bytes(const SafetensorsEntry& entry) const {
    return file_.bytes(entry);
  }
  /// The bytes of a tensor; the mapping stays for as long as the pointer does.
  std::shared_ptr<const std::byte> share(const SafetensorsEntry& entry) const {
    return file_.file().share(entry.begin);
  }
  /// Reads all weights. Throws Error where a byte differs.
  void check_weights() const;

 private:
  void check_version() const;
  void check(std::string_view checksum, size_t begin, std::string_view covered) const;

  SafetensorsFile file_;
};

}  // namespace lathe
