// Any bytes as model.lathe. The first byte chooses: 'F', the rest is the file; any other, the rest
// is the graphs' JSON of a file that is sound otherwise, since a wrong checksum ends the first way
// early. With TMPDIR=/dev/shm it does not wait for a disk.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "artifact/read.h"
#include "artifact/small_model.h"
#include "artifact/write.h"
#include "support/error.h"
#include "support/test_files.h"
#include "support/utf8.h"

namespace {

/// A file in memory, under a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("model.lathe", 0)) {
    if (::write(fd_, bytes.data(), bytes.size()) < 0) __builtin_trap();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// Reads an artifact that is sound but for the graphs' JSON.
void read_with_graphs(std::string_view json) {
  static const lathe::testing::TestFolder folder;
  static std::once_flag written;
  std::call_once(written,
                 [] { lathe::write_model(lathe::testing::small_model(), folder / "sound.lathe"); });
  if (!lathe::is_utf8(json)) return;  // safetensors metadata always is
  lathe::testing::repack(
      folder / "sound.lathe", folder / "changed.lathe",
      [&](lathe::testing::Metadata& metadata) { metadata["lathe.graphs"] = json; });
  lathe::read_model(folder / "changed.lathe");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 'F') {
      lathe::read_model(MemoryFile(bytes).path());
    } else {
      read_with_graphs(bytes);
    }
  } catch (const lathe::Error&) {
  }
  return 0;
}
