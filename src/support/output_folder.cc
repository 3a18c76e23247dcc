#include "support/output_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// "dir/" and "dir" are the same folder.
fs::path without_trailing_slash(fs::path path) {
  return path.has_filename() ? path : path.parent_path();
}

void check_replaceable(const fs::path& path, std::string_view mark) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (!fs::is_directory(path, error)) {
    fail({.what = "cannot write the folder", .where = path.string(), .found = "a file"});
  }
  if (fs::is_empty(path, error) || fs::exists(path / mark, error)) return;
  fail({.what = "the folder holds other files",
        .where = path.string(),
        .expected = "nothing, or what an earlier run wrote (" + std::string(mark) + ")",
        .advice = "give a folder of its own"});
}

/// A name beside the folder that this process alone uses.
fs::path beside(const fs::path& path, const char* kind) {
  fs::path name = path;
  name += std::string(kind) + std::to_string(::getpid());
  return name;
}

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  fail({.what = "cannot write the folder", .where = path.string(), .found = std::strerror(error)});
}

}  // namespace

OutputFolder::OutputFolder(fs::path path, std::string_view mark)
    : path_(without_trailing_slash(std::move(path))) {
  if (!path_.has_filename()) {
    fail({.what = "cannot write the folder", .where = path_.string(), .found = "not a name"});
  }
  check_replaceable(path_, mark);
  temporary_ = beside(path_, ".tmp-");
  std::error_code error;
  fs::remove_all(temporary_, error);
  if (!fs::create_directory(temporary_, error)) {
    fail({.what = "cannot write the folder", .where = path_.string(), .found = error.message()});
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void OutputFolder::commit() {
  const fs::path old = beside(path_, ".old-");
  const bool replaces = ::rename(path_.c_str(), old.c_str()) == 0;
  if (!replaces && errno != ENOENT) fail_to_write(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    if (replaces) ::rename(old.c_str(), path_.c_str());
    fail_to_write(path_, error);
  }
  std::error_code ignored;
  if (replaces) fs::remove_all(old, ignored);
}

}  // namespace lathe
