#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

class Graph;

/// How a checkpoint becomes an artifact. The defaults are those of `lathe compile`.
struct CompileOptions {
  /// Tokens that prompt and output may have together. Default: 1024, or less where the model's
  /// positions end earlier.
  std::optional<int64_t> context = {};
  /// Tokens per call of the prefill graph; 1 leaves it out. Default: 64, or the context where that
  /// is less.
  std::optional<int64_t> prefill = {};
  /// "hf": Hugging Face's graph, turned; "static": built by hand in the final form; "hf_mainline":
  /// as it was traced, only quantized. The last two are there to be measured.
  std::string variant = "hf";
  /// "cpu", or "htp": attention split by head, as an NPU runs it.
  std::string target = "cpu";
  /// A built-in recipe, a .json file, or "auto": the recipe that fits the model's config.
  std::string recipe = "auto";
  /// Of all weights and activations, in place of what the recipe says: "8a8w", "16a8w", "16a4w",
  /// "16a4w_block", "8a4w", "16a16w"; "auto": as the recipe says.
  std::string quant = "auto";
  std::optional<int64_t> block = {};    ///< weights that share a scale factor: 16, 32 or 64
  std::optional<int64_t> kv_bits = {};  ///< of the caches: 8 or 16
  std::optional<int64_t> seq_mse = {};  ///< steps of the search for weight scales; 0: none
  bool r3 = false;                      ///< rotate queries and keys after RoPE
  /// Names of passes to leave out. Without annotate, fold_qdq or tag_quant_io nothing is written:
  /// an error from the start, or, with `after_pass`, once the graphs have been seen.
  std::vector<std::string> disabled_passes = {};
  /// Called with the name of a pass and the decode graph behind it, for every pass that ran.
  std::function<void(std::string_view pass, const Graph& graph)> after_pass = {};
  /// Called with a table of what the recipe makes of each weight.
  std::function<void(std::string_view table)> explain = {};
  /// Called with which products quantization hurts most, and the rules that would give them 8 bits.
  std::function<void(std::string_view text)> report = {};
  /// A .txt, or a .jsonl of chat messages; empty: the built-in text and conversations.
  std::filesystem::path calibration = {};
  /// At most this many tokens are calibrated on.
  int64_t calibration_tokens = 1536;
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
