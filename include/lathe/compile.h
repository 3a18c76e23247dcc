#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lathe {

/// How a checkpoint becomes an artifact. The defaults are those of `lathe compile`.
struct CompileOptions {
  /// Tokens that prompt and output may have together. Default: 1024, or less where the model's
  /// positions end earlier.
  std::optional<int64_t> context = {};
  /// Tokens per call of the prefill graph; 1 leaves it out. Default: 32, or the context where that
  /// is less.
  std::optional<int64_t> prefill = {};
  /// A built-in recipe or a .json file.
  std::string recipe = "default-16a8w";
  /// A .txt, or a .jsonl of chat messages; empty: the built-in text and conversations.
  std::filesystem::path calibration = {};
  /// At most this many tokens are calibrated on.
  int64_t calibration_tokens = 2048;
  int threads = 0;  ///< 0: one for each physical core
  /// Called with what is being done ("calibrating"), before it is.
  std::function<void(std::string_view)> progress = {};
};

struct CompileReport {
  double seconds = 0.0;
  int64_t peak_rss_bytes = 0;
  int64_t artifact_bytes = 0;
  double bits_per_weight = 0.0;  ///< bytes of weights in the artifact over parameters
  std::string recipe;
};

/// Turns a checkpoint (a Hugging Face folder, a .gguf file, or the word "tiny") into an artifact.
/// A failed or killed run leaves what was at `output` before. Throws lathe::Error.
CompileReport compile(const std::filesystem::path& source, const std::filesystem::path& output,
                      const CompileOptions& options = {});

}  // namespace lathe
