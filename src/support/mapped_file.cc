#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "support/error.h"

namespace lathe {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

/// Opens a regular file and gives its size.
size_t open_regular(const std::filesystem::path& path, Descriptor& descriptor) {
  descriptor.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor.fd < 0) {
    fail({.what = "cannot open the file", .where = path.string(), .found = std::strerror(errno)});
  }
  struct stat info{};
  if (::fstat(descriptor.fd, &info) != 0) {
    fail({.what = "cannot read the file", .where = path.string(), .found = std::strerror(errno)});
  }
  if (!S_ISREG(info.st_mode)) {
    fail({.what = "not a regular file",
          .where = path.string(),
          .found = S_ISDIR(info.st_mode) ? "a folder" : "a special file"});
  }
  return static_cast<size_t>(info.st_size);
}

}  // namespace

MappedFile MappedFile::open(const std::filesystem::path& path) {
  Descriptor descriptor;
  MappedFile file;
  file.path_ = path;
  file.size_ = open_regular(path, descriptor);
  if (file.size_ == 0) return file;
  const size_t size = file.size_;
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.fd, 0);
  if (mapping == MAP_FAILED) {
    fail({.what = "cannot map the file", .where = path.string(), .found = std::strerror(errno)});
  }
  file.data_ = std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(mapping),
      [size](const std::byte* data) { ::munmap(const_cast<std::byte*>(data), size); });
  return file;
}

bool file_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string read_text_file(const std::filesystem::path& path, size_t limit) {
  Descriptor descriptor;
  const size_t size = open_regular(path, descriptor);
  if (size > limit) {
    fail({.what = "the file is too large",
          .where = path.string(),
          .expected = "at most " + std::to_string(limit) + " bytes",
          .found = std::to_string(size)});
  }
  std::string text(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(descriptor.fd, text.data() + done, size - done);
    if (got <= 0) {
      fail({.what = "cannot read the file",
            .where = path.string(),
            .found = got < 0 ? std::strerror(errno) : "the file ended early"});
    }
    done += static_cast<size_t>(got);
  }
  return text;
}

}  // namespace lathe
