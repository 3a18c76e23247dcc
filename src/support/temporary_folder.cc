#include "support/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "support/error.h"

namespace lathe {

namespace {

constexpr const char* kAdvice = "set TMPDIR to a folder that can be written to";

std::filesystem::path system_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) {
    fail({.what = "there is no folder for temporary files",
          .found = error.message(),
          .advice = kAdvice});
  }
  return folder;
}

std::filesystem::path make_folder(const std::filesystem::path& parent, const char* advice) {
  std::string name = (parent / "lathe-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    fail({.what = "cannot make a temporary folder",
          .where = parent.string(),
          .found = std::strerror(errno),
          .advice = advice});
  }
  return name;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : path_(make_folder(system_folder(), kAdvice)) {}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent)
    : path_(make_folder(parent, "")) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lathe
