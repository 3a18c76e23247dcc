#include "api/variant_counts.h"

#include <memory>

#include "api/embedded_checkpoint.h"
#include "api/variants.h"
#include "executors/ort/chips.h"
#include "executors/ort/library.h"
#include "lathe/export.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// Statistics change the numbers of an encoding, not what a graph is made of: a few will do.
constexpr int64_t kCalibrationTokens = 16;

void add(CompiledGraph& sum, const CompiledGraph& part) {
  for (const auto& [type, count] : part.operators) sum.operators[type] += count;
  sum.boundary_tensors += part.boundary_tensors;
  sum.boundary_bytes += part.boundary_bytes;
}

void count_variant(const fs::path& source, const fs::path& folder, const std::string& name,
                   const VariantCountsOptions& options, VariantCountsReport& report) {
  const auto progress = [&](std::string_view what) {
    if (options.compile.progress) options.compile.progress(name + ": " + std::string(what));
  };
  const fs::path artifact = folder / (name + ".lathe");
  CompileOptions compile_options = options.compile;
  compile_options.variant = name;
  compile_options.progress = progress;
  report.recipe = compile(source, artifact, compile_options).recipe;

  const fs::path output = folder / name;
  const ExportReport exported =
      export_model(artifact, output,
                   {.format = "htp", .soc = options.soc, .simulator = false, .progress = progress});
  const Manifest manifest = read_manifest(output);
  fs::remove(artifact);
  fs::remove_all(output);

  const ExportedGraph& decode = *manifest.find(GraphRole::decode);
  VariantCounts& counts = report.variants.emplace_back();
  counts.name = name;
  for (const ExportedPart& part : decode.parts) {
    if (part.compiled) add(counts.compiled, *part.compiled);
  }
  counts.kv_bytes_in = cache_bytes(decode.io.inputs);
  counts.kv_bytes_out = cache_bytes(decode.io.outputs);
  counts.context_bytes = exported.context_bytes;
  counts.weight_bytes = exported.weight_bytes;
  report.source = manifest.provenance.source_name;
  report.chip = manifest.chip.value();
  report.versions = manifest.versions;
}

}  // namespace

VariantCountsReport count_variants(const fs::path& source, const VariantCountsOptions& options) {
  find_chip(options.soc);
  OrtLibrary::open().htp();
  VariantCountsOptions chosen = options;
  CompileOptions& compile_options = chosen.compile;
  compile_options.context = comparison_context(*open_source(source), options.compile);
  compile_options.target = "htp";
  compile_options.prefill = 1;
  compile_options.calibration_tokens = kCalibrationTokens;

  VariantCountsReport report;
  report.context = *compile_options.context;
  const TemporaryFolder folder;
  for (const char* name : kVariants) {
    count_variant(source, folder.path(), name, chosen, report);
  }
  return report;
}

std::vector<std::string> excess(const VariantCounts& first, const VariantCounts& second) {
  std::vector<std::string> more;
  const auto compare = [&](const char* what, int64_t a, int64_t b) {
    if (a > b) more.emplace_back(what);
  };
  compare("operators", first.compiled.operator_count(), second.compiled.operator_count());
  compare("boundary tensors", first.compiled.boundary_tensors, second.compiled.boundary_tensors);
  compare("boundary bytes", first.compiled.boundary_bytes, second.compiled.boundary_bytes);
  compare("cache bytes", first.kv_bytes_in + first.kv_bytes_out,
          second.kv_bytes_in + second.kv_bytes_out);
  compare("weight bytes", first.weight_bytes, second.weight_bytes);
  return more;
}

}  // namespace lathe
