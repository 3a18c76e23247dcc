#pragma once

#include <filesystem>
#include <string_view>

namespace lathe {

/// A folder written beside its final name and renamed into place by commit(), so that a failed or
/// killed run leaves what was there before. Without commit() the temporary folder is removed.
class OutputFolder {
 public:
  /// What is at `path` may be nothing, an empty folder, or a folder with a file named `mark`, which
  /// says that it was written like this before. Throws Error for anything else there, and where the
  /// folder around it is missing or not writable.
  OutputFolder(std::filesystem::path path, std::string_view mark);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Where to write.
  const std::filesystem::path& path() const { return temporary_; }
  /// Puts the folder in the place of what was there. Throws Error where that fails.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

}  // namespace lathe
