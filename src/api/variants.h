#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "eval/agreement.h"
#include "eval/perplexity.h"
#include "eval/speed.h"
#include "graph/diff.h"
#include "graph/summary.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"

namespace lathe {

/// The order of a comparison: what is aimed at, what there was, what there is now.
inline constexpr std::array<const char*, 3> kVariants{"static", "hf_mainline", "hf"};

/// The context to compare at: the one that is asked for, or 1024 where the model's positions reach.
int64_t comparison_context(const Checkpoint& checkpoint, const CompileOptions& options);

struct VariantsOptions {
  /// How all of them are compiled, but for `variant`. Its progress is told about measuring too.
  CompileOptions compile = {};
  OpenOptions open = {};
  /// Tokens in the cache before generation. Default: what the context leaves.
  std::optional<int64_t> depth = {};
  int64_t generate = 64;  ///< tokens of a sample of speed; at least 1
  int rounds = 5;         ///< each variant once a round
  /// The text to evaluate on, UTF-8. Default: the beginning of the built-in calibration prose.
  std::optional<std::string> text = {};
};

/// A variant of a model, per decode step where it is about bytes.
struct VariantResult {
  std::string name;      ///< "static", "hf_mainline", "hf"
  GraphSummary summary;  ///< of the decode graph
  int64_t arena_bytes = 0;
  int64_t artifact_bytes = 0;
  std::vector<double> tokens_per_s;  ///< by round
  Perplexity perplexity;
  Agreement agreement;  ///< with the float graph
};

/// One model, compiled in three ways, measured side by side.
struct VariantsReport {
  std::string source;  ///< its name, without the path
  std::string recipe;
  std::string executor;
  int threads = 0;
  int64_t context = 0;
  int64_t depth = 0;
  int64_t generate = 0;
  bool built_in_text = true;                ///< which calibration saw as well
  double float_perplexity = 0.0;            ///< of the checkpoint itself
  std::vector<VariantResult> variants;      ///< static, hf_mainline, hf
  GraphDiff static_and_hf;                  ///< the decode graphs of these two
  std::vector<double> hf_over_static;       ///< tokens/s, by round
  std::vector<double> hf_over_hf_mainline;  ///< tokens/s, by round
};

/// Compiles `source` in its three variants into a temporary folder, which is gone afterwards
/// whatever happens, and measures them, generation in interleaved rounds. Throws Error, before
/// anything is compiled, for what compile() refuses, a text of fewer than two tokens, and more
/// tokens than the context holds.
VariantsReport compare_variants(const std::filesystem::path& source,
                                const VariantsOptions& options = {});

}  // namespace lathe
