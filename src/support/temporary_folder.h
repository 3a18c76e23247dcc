#pragma once

#include <filesystem>

namespace lathe {

/// A new folder where temporary files belong (TMPDIR, or /tmp) or in `parent`, removed with all
/// that is in it.
class TemporaryFolder {
 public:
  /// Throws Error where none can be made.
  TemporaryFolder();
  explicit TemporaryFolder(const std::filesystem::path& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lathe
