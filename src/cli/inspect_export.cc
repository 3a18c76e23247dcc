#include "cli/inspect_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "artifact/manifest.h"
#include "cli/output.h"
#include "support/mapped_file.h"

namespace lathe::cli {
namespace {

/// "Conv2d 49, Reshape 40", the most frequent first.
std::string list_operators(const CompiledGraph& compiled) {
  std::vector<std::pair<std::string, int64_t>> operators(compiled.operators.begin(),
                                                         compiled.operators.end());
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  for (const auto& [type, count] : operators) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", type, count);
  }
  return list;
}

void print_graph(const ExportedGraph& graph) {
  std::cout << fmt::format(
      "{} graph: {} tokens per call, context {}; caches {} bytes in, {} out a call\n",
      name_of(graph.io.role), graph.io.tokens_per_call, graph.io.context,
      cache_bytes(graph.io.inputs), cache_bytes(graph.io.outputs));
  for (const ExportedPart& part : graph.parts) {
    std::cout << fmt::format("  {}: {} inputs, {} outputs\n", part.file, part.io.inputs.size(),
                             part.io.outputs.size());
    if (!part.compiled) continue;
    std::cout << fmt::format(
        "    {} operators on the chip: {}\n    {} tensors and {} bytes cross its boundary a call\n",
        part.compiled->operator_count(), list_operators(*part.compiled),
        part.compiled->boundary_tensors, part.compiled->boundary_bytes);
  }
}

}  // namespace

void print_export(const std::filesystem::path& folder, bool json) {
  const Manifest manifest = read_manifest(folder);
  if (json) {
    // The manifest is JSON already, and has been checked.
    print_json(nlohmann::ordered_json::parse(manifest_json(manifest)));
    return;
  }
  std::cout << fmt::format("{} export of {} ({}, context {})\n", manifest.format,
                           manifest.provenance.source_name, manifest.facts.model_type,
                           manifest.facts.context);
  if (const auto& chip = manifest.chip) {
    std::cout << fmt::format("chip {}: id {}, HTP V{}, {} MB VTCM\n", chip->name, chip->soc,
                             chip->arch, chip->vtcm_mb);
  }
  for (const auto& [name, version] : manifest.versions) {
    std::cout << fmt::format("made with {} {}\n", name, version);
  }
  for (const ExportedGraph& graph : manifest.graphs) print_graph(graph);
  std::cout << "files\n";
  for (const ExportedFile& file : manifest.files) {
    std::cout << fmt::format("  {:<24} {:>12} bytes\n", file.name, file.bytes);
  }
}

}  // namespace lathe::cli
