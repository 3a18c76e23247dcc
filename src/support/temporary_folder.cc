#include "support/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "support/error.h"

namespace lathe {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = (parent / "lathe-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr) {
    fail({.what = "cannot make a temporary folder",
          .where = parent.string(),
          .found = error ? error.message() : std::strerror(errno),
          .advice = "set TMPDIR to a folder that can be written to"});
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lathe
