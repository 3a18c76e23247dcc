#include "api/embedded_checkpoint.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "api/tiny_files.h"
#include "support/error.h"
#include "support/output_file.h"

namespace lathe {
namespace {

/// A folder of its own under the system's folder for temporary files, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lathe-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      fail({.what = "cannot make a temporary folder",
            .where = pattern,
            .found = std::strerror(errno),
            .advice = "set TMPDIR to a folder that can be written"});
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::shared_ptr<const Checkpoint> open_source(const std::filesystem::path& source) {
  if (source != "tiny") return Checkpoint::open(source);
  // The embedded files go through the same door as a user's: written out, opened, and unlinked
  // while the mapping keeps their bytes.
  const TemporaryFolder folder;
  for (const TinyFile& file : tiny_files()) {
    OutputFile out(folder.path() / file.name);
    out.write(file.bytes);
    out.commit();
  }
  return Checkpoint::open(folder.path());
}

}  // namespace lathe
