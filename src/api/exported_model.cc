#include "api/exported_model.h"

#include <utility>
#include <vector>

#include "artifact/read.h"
#include "executors/chain_session.h"
#include "executors/ort/library.h"
#include "executors/ort/session.h"
#include "executors/reference/evaluator_session.h"
#include "support/error.h"
#include "support/thread_pool.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// An .onnx file of this format runs on one executor.
void check_executor(const fs::path& folder, const Manifest& manifest, ExecutorKind executor) {
  const ExecutorKind own = manifest.format == "htp" ? ExecutorKind::htp : ExecutorKind::ort;
  if (executor == own) return;
  fail({.what = "the export does not run on this executor",
        .where = folder.string(),
        .expected = "--executor " + std::string(name_of(own)),
        .found = std::string(name_of(executor))});
}

/// Context binaries load where the provider is the one that they were compiled with.
void check_version(const fs::path& folder, const Manifest& manifest, const std::string& name,
                   const std::string& here) {
  const auto made_with = manifest.versions.find(name);
  const std::string expected =
      made_with == manifest.versions.end() ? "none" : printable(made_with->second, 40);
  if (expected == here) return;
  fail({.what = "the export was compiled with another version of " + name,
        .where = folder.string(),
        .expected = expected,
        .found = here,
        .advice = "export the model again, or install that version"});
}

/// The chip as the table here knows it: a manifest that says otherwise is not one of ours.
Chip checked_chip(const fs::path& folder, const Manifest& manifest, const std::string& soc) {
  const ExportedChip& made_for = *manifest.chip;
  const Chip& chip = find_chip(soc.empty() ? made_for.name : soc);
  const ExportedChip here{std::string(chip.name), chip.id, chip.arch, chip.vtcm_mb};
  if (made_for == here) return chip;
  const auto describe = [](const ExportedChip& c) {
    return printable(c.name, 40) + " (id " + std::to_string(c.soc) + ", V" +
           std::to_string(c.arch) + ", " + std::to_string(c.vtcm_mb) + " MB)";
  };
  fail({.what = "the export was compiled for another chip",
        .where = folder.string(),
        .expected = describe(made_for),
        .found = describe(here),
        .advice = "export the model for this chip"});
}

OrtTarget target_of(const fs::path& folder, const Manifest& manifest, const OpenOptions& options) {
  OrtTarget target{.threads = thread_count(options.threads)};
  if (manifest.format != "htp") return target;
  const HtpProvider& htp = OrtLibrary::open().htp();
  check_version(folder, manifest, "onnxruntime-qnn", htp.version);
  check_version(folder, manifest, "qnn", htp.sdk);
  target.htp = HtpOptions{.chip = checked_chip(folder, manifest, options.soc)};
  return target;
}

std::unique_ptr<Session> open_part(const fs::path& folder, const ExportedPart& part,
                                   const OrtTarget& target) {
  const bool simulates = kHtpIsSimulated && !part.simulator_file.empty();
  const fs::path path = folder / (simulates ? part.simulator_file : part.file);
  if (path.extension() == ".onnx") return make_ort_session(path, part.io, target);
  // What the host computes, a row of a table, takes no time in any executor.
  const Model host = read_model(path, WeightCheck::sizes);  // check_files has read every byte
  return std::make_unique<ReferenceSession>(
      std::make_shared<const Graph>(host.graph(part.io.role)));
}

std::unique_ptr<Session> open_graph(const fs::path& folder, const ExportedGraph& graph,
                                    const OrtTarget& target) {
  std::vector<std::unique_ptr<Session>> parts;
  for (const ExportedPart& part : graph.parts) parts.push_back(open_part(folder, part, target));
  if (parts.size() == 1) return std::move(parts.front());
  return chain_sessions(std::move(parts), graph.io);
}

}  // namespace

ExportedModel open_export(const fs::path& folder, const OpenOptions& options) {
  const Manifest manifest = read_manifest(folder);
  check_executor(folder, manifest, options.executor);
  const OrtTarget target = target_of(folder, manifest, options);
  check_files(folder, manifest);
  const ExportedGraph* decode = manifest.find(GraphRole::decode);
  if (decode == nullptr) {
    fail({.what = "the export has no decode graph", .where = folder.string()});
  }
  const ExportedGraph* prefill =
      options.mode == RunMode::kv ? nullptr : manifest.find(GraphRole::prefill);
  return {read_export_text(folder), manifest.generation, open_graph(folder, *decode, target),
          prefill == nullptr ? nullptr : open_graph(folder, *prefill, target)};
}

}  // namespace lathe
