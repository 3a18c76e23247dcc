#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "executors/ort/ffi.h"

namespace lathe {

/// Whether the HTP of this build is a simulator.
#if defined(__x86_64__) || defined(_M_X64)
inline constexpr bool kHtpIsSimulated = true;
#else
inline constexpr bool kHtpIsSimulated = false;
#endif

/// Qualcomm's execution provider: graphs on a Hexagon tensor processor (HTP), which is a chip's own
/// or, on x86-64, a simulator's.
struct HtpProvider {
  std::string version;            ///< "2.7.0"
  std::string sdk;                ///< version of Qualcomm's compiler, "2.51.0"
  std::filesystem::path backend;  ///< the library that compiles and runs
};

/// ONNX Runtime, found and opened at run time.
class OrtLibrary {
 public:
  static constexpr const char* kVersion = "1.32";      ///< the release that is asked for, any patch
  static constexpr const char* kHtpVersion = "2.7.0";  ///< and that of the HTP's provider
  static constexpr const char* kHtpName = "QNNExecutionProvider";

  /// The one of this process: out of the folder that find_ort_folder() gives, opened by the first
  /// call that succeeds. From any thread. Throws Error where there is none, or one of another
  /// version.
  static const OrtLibrary& open();

  /// Opens the one in `folder`, which has the layout of Python's packages: onnxruntime/capi and
  /// onnxruntime_qnn.
  explicit OrtLibrary(const std::filesystem::path& folder);

  const LatheOrt* runtime() const { return runtime_; }
  /// "1.32.0"
  const std::string& version() const { return version_; }

  /// The HTP's provider, made known to ONNX Runtime by the first call. From any thread. Throws
  /// Error where its files are missing or of another version.
  const HtpProvider& htp() const;

 private:
  std::filesystem::path folder_;
  const LatheOrt* runtime_ = nullptr;
  std::string version_;
  mutable std::mutex mutex_;
  mutable std::optional<HtpProvider> htp_;
};

/// Where ONNX Runtime is: the folder that LATHE_ORT_DIR names; without it, third_party/onnxruntime
/// in the nearest folder above `executable` that has one. The current folder plays no part: what
/// happens to lie there must not run. Throws Error where there is none.
std::filesystem::path find_ort_folder(const std::filesystem::path& executable);

}  // namespace lathe
