#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "artifact/manifest.h"
#include "lathe/compile.h"

namespace lathe {

struct VariantCountsOptions {
  /// How all variants are compiled, but for what this comparison fixes: variant, target, prefill
  /// and calibration. Its progress is told about all of the work.
  CompileOptions compile = {};
  std::string soc = "SM8750";  ///< ExportOptions::soc
};

/// What a chip's compiler made of the decode graph of a variant; bytes are those of one call, but
/// for the last two.
struct VariantCounts {
  std::string name;        ///< "static", "hf_mainline", "hf"
  CompiledGraph compiled;  ///< its shards together, where the chip's limits need several
  int64_t kv_bytes_in = 0;
  int64_t kv_bytes_out = 0;
  int64_t context_bytes = 0;  ///< the context binary
  int64_t weight_bytes = 0;   ///< each weight once
};

struct VariantCountsReport {
  std::string source;  ///< its name, without the path
  std::string recipe;
  int64_t context = 0;
  ExportedChip chip;
  std::map<std::string, std::string> versions;  ///< Manifest::versions
  std::vector<VariantCounts> variants;          ///< in the order of kVariants
};

/// Compiles `source` in its three variants for the HTP, and the decode graph of each into a context
/// binary, in a temporary folder that is gone afterwards. No speed: on a simulator it means
/// nothing. Throws Error, before anything is compiled, for an unknown chip and where ONNX Runtime
/// is missing, and for what compile() and export_model() refuse.
VariantCountsReport count_variants(const std::filesystem::path& source,
                                   const VariantCountsOptions& options = {});

/// What `first` has more of than `second`: "operators", "boundary tensors", "boundary bytes",
/// "cache bytes", "weight bytes". Empty: nothing. The size of the context binary does not count: it
/// holds the names of values and comes in pages of 4096 bytes, so one graph under other names can
/// be a page larger.
std::vector<std::string> excess(const VariantCounts& first, const VariantCounts& second);

}  // namespace lathe
