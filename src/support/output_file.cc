#include "support/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "support/error.h"

namespace lathe {

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    fail({.what = "cannot write the file", .where = path_.string(), .found = "a folder"});
  }
  temporary_ = path_;
  // A device or a pipe (/dev/stdout) must be written to, never replaced.
  in_place_ =
      std::filesystem::exists(path_, ignored) && !std::filesystem::is_regular_file(path_, ignored);
  if (!in_place_) temporary_ += ".tmp-" + std::to_string(::getpid());
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    fail({.what = "cannot write the file", .where = path_.string(), .found = std::strerror(errno)});
  }
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!in_place_) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done < 0) {
      if (errno == EINTR) continue;
      fail({.what = "cannot write the file",
            .where = path_.string(),
            .found = std::strerror(errno),
            .advice = errno == ENOSPC ? "free some space or write elsewhere" : ""});
    }
    bytes = bytes.subspan(static_cast<size_t>(done));
    size_ += static_cast<size_t>(done);
  }
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void OutputFile::commit() {
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
    fail({.what = "cannot write the file", .where = path_.string(), .found = std::strerror(errno)});
  }
  ::close(fd_);
  fd_ = -1;
  if (in_place_) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail({.what = "cannot write the file", .where = path_.string(), .found = std::strerror(error)});
  }
}

}  // namespace lathe
