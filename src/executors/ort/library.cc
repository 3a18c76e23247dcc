#include "executors/ort/library.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/error.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// Names of the libraries, as the platform's packages have them.
struct FileNames {
  const char* library;  // may be followed by a version
  const char* provider;
  const char* backend;
};

#if defined(_WIN32)
constexpr FileNames kFiles = {"onnxruntime.dll", "onnxruntime_providers_qnn.dll", "QnnHtp.dll"};
#else
constexpr FileNames kFiles = {"libonnxruntime.so", "libonnxruntime_providers_qnn.so",
                              "libQnnHtp.so"};
#endif

constexpr const char* kVariable = "LATHE_ORT_DIR";
constexpr const char* kAdvice = "run scripts/get-ort, or set LATHE_ORT_DIR";

void require_file(const fs::path& path) {
  if (file_exists(path)) return;
  fail({.what = "a file of ONNX Runtime is missing",
        .where = printable(path.string()),
        .advice = kAdvice});
}

/// The text in quotes behind `name = ` in a small Python file.
std::string python_constant(const std::string& text, std::string_view name,
                            const std::string& where) {
  const std::string start = "\n" + std::string(name) + " = '";
  const std::string lines = "\n" + text;
  const size_t begin = lines.find(start);
  const size_t end = begin == std::string::npos ? begin : lines.find('\'', begin + start.size());
  if (end == std::string::npos) {
    fail(
        {.what = "the file does not say a version", .where = where, .expected = std::string(name)});
  }
  return lines.substr(begin + start.size(), end - begin - start.size());
}

/// ONNX Runtime's library in `folder`; of several, the one with the greatest name.
fs::path find_library(const fs::path& folder) {
  fs::path found = folder / kFiles.library;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kFiles.library) && entry.path() > found) found = entry.path();
  }
  require_file(found);
  return found;
}

/// Lets what is printed to stdout go nowhere for as long as it lives.
class QuietStdout {
 public:
  QuietStdout() {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    stdout_ = ::dup(STDOUT_FILENO);
    if (stdout_ >= 0) ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~QuietStdout() {
    std::fflush(stdout);
    if (stdout_ < 0) return;
    ::dup2(stdout_, STDOUT_FILENO);
    ::close(stdout_);
  }
  QuietStdout(const QuietStdout&) = delete;
  QuietStdout& operator=(const QuietStdout&) = delete;

 private:
  int stdout_ = -1;
};

/// The simulator greets on stdout when it is opened, where a program's own output belongs. Why it
/// cannot be opened is in the error.
void open_backend(const fs::path& path) {
  const QuietStdout quiet;
  bool opened = false;
  LatheOwnedText error;
  if (!lathe_ort_keep_open(borrow(path.string()), &opened, &error)) {
    fail({.what = printable(take(error)), .where = printable(path.string())});
  }
}

fs::path executable_path() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace

fs::path find_ort_folder(const fs::path& executable) {
  const char* named = std::getenv(kVariable);
  if (named != nullptr && *named != '\0') return named;

  for (fs::path folder = executable.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (file_exists(folder / "third_party" / "onnxruntime")) {
      return folder / "third_party" / "onnxruntime";
    }
  }
  fail({.what = "ONNX Runtime is not here", .advice = kAdvice});
}

const OrtLibrary& OrtLibrary::open() {
  static std::mutex mutex;
  static std::unique_ptr<const OrtLibrary> library;
  const std::lock_guard lock(mutex);
  if (library == nullptr) {
    library = std::make_unique<const OrtLibrary>(find_ort_folder(executable_path()));
  }
  return *library;
}

OrtLibrary::OrtLibrary(const fs::path& folder) : folder_(fs::absolute(folder)) {
  const std::string path = find_library(folder_ / "onnxruntime" / "capi").string();
  LatheOwnedText version;
  LatheOwnedText error;
  if (!lathe_ort_open(borrow(path), borrow(kVersion), &runtime_, &error) ||
      !lathe_ort_version(runtime_, &version, &error)) {
    fail({.what = printable(take(error)), .where = printable(path), .advice = kAdvice});
  }
  version_ = take(version);
}

const HtpProvider& OrtLibrary::htp() const {
  const std::lock_guard lock(mutex_);
  if (htp_.has_value()) return *htp_;

  const fs::path folder = folder_ / "onnxruntime_qnn";
  const fs::path versions = folder / "build_and_package_info.py";
  const fs::path library = folder / kFiles.provider;
  HtpProvider htp{.version = {}, .sdk = {}, .backend = folder / kFiles.backend};
  for (const fs::path& path : {versions, library, htp.backend}) require_file(path);

  const std::string where = printable(versions.string());
  const std::string text = read_text_file(versions, 4096);
  htp.version = printable(python_constant(text, "__version__", where), 40);
  htp.sdk = printable(python_constant(text, "qnn_version", where), 40);
  if (htp.version != kHtpVersion) {
    fail({.what = "another version of onnxruntime-qnn",
          .where = printable(folder.string()),
          .expected = kHtpVersion,
          .found = htp.version,
          .advice = kAdvice});
  }
  open_backend(htp.backend);
  bool registered = false;
  LatheOwnedText error;
  if (!lathe_ort_register_provider(runtime_, borrow(kHtpName), borrow(library.string()),
                                   &registered, &error)) {
    fail({.what = printable(take(error)), .where = printable(library.string())});
  }
  htp_ = std::move(htp);
  return *htp_;
}

}  // namespace lathe
