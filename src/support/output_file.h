#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

/// A file written beside its final name and renamed into place by commit(), so that a failed or
/// killed run leaves what was there before. Without commit() the temporary file is removed. A
/// device or a pipe is written to directly.
class OutputFile {
 public:
  /// Throws Error where the folder is missing or not writable.
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends. Throws Error (a full disk, for instance).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Bytes written so far.
  size_t size() const { return size_; }
  /// Flushes to disk and renames over the final path.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  bool in_place_ = false;
  int fd_ = -1;
  size_t size_ = 0;
};

}  // namespace lathe
