#include "api/embedded_checkpoint.h"

#include "api/tiny_files.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"

namespace lathe {
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
