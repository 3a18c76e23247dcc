#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace lathe {

/// A file mapped read-only. Copies share the mapping; it is unmapped with the last one.
class MappedFile {
 public:
  /// Throws Error where the file is missing, a folder or unreadable. An empty file gives no bytes.
  static MappedFile open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  const std::filesystem::path& path() const { return path_; }
  /// Keeps the mapping alive for as long as the pointer lives.
  std::shared_ptr<const std::byte> share(size_t offset) const {
    return {data_, data_.get() + offset};
  }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const std::byte> data_;
  size_t size_ = 0;
};

/// Whether there is something at `path`; a path that cannot be looked up counts as not there.
bool file_exists(const std::filesystem::path& path);

/// The whole of a small text file. Throws Error where it cannot be read or is over `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, size_t limit = size_t{64} << 20);

}  // namespace lathe
