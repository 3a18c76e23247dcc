#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/test_files.h"

namespace lathe::testing {

/// A copy of the small Llama of the test data: a checkpoint folder to be broken.
class CheckpointFolder {
 public:
  CheckpointFolder();

  std::string path() const { return folder_.path().string(); }
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& bytes) const {
    folder_.write(name, bytes);
  }
  void remove(const std::string& name) const { std::filesystem::remove(file(name)); }
  void rename(const std::string& from, const std::string& to) const {
    std::filesystem::rename(file(from), file(to));
  }
  /// Keeps the first `size` bytes.
  void truncate(const std::string& name, size_t size) const {
    std::filesystem::resize_file(file(name), size);
  }
  /// Sets a field of a JSON file.
  void set(const std::string& name, const std::string& key, const nlohmann::json& value) const;
  void erase(const std::string& name, const std::string& key) const;

 private:
  TestFolder folder_;
};

/// The files of a folder and what is in them, by name.
std::map<std::string, std::string> contents(const std::filesystem::path& folder);

}  // namespace lathe::testing
