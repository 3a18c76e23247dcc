#include "cli/bench_counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "cli/output.h"
#include "cli/variants_table.h"

namespace lathe::cli {
namespace {

const VariantCounts& variant(const VariantCountsReport& report, std::string_view name) {
  return *std::find_if(report.variants.begin(), report.variants.end(),
                       [&](const VariantCounts& counts) { return counts.name == name; });
}

std::vector<std::string> excess_of_hf(const VariantCountsReport& report) {
  return excess(variant(report, "hf"), variant(report, "static"));
}

int64_t count_of(const CompiledGraph& compiled, const std::string& type) {
  const auto found = compiled.operators.find(type);
  return found == compiled.operators.end() ? 0 : found->second;
}

/// Of all variants, by name: the rows of two runs can be laid side by side.
std::set<std::string> operator_types(const VariantCountsReport& report) {
  std::set<std::string> types;
  for (const VariantCounts& counts : report.variants) {
    for (const auto& [type, count] : counts.compiled.operators) types.insert(type);
  }
  return types;
}

std::vector<VariantRow> rows_of(const VariantCountsReport& report) {
  std::vector<VariantRow> rows;
  const auto add = [&](std::string label, const auto& cell) {
    VariantRow& row = rows.emplace_back(std::move(label), std::vector<std::string>{});
    for (const VariantCounts& counts : report.variants) row.cells.push_back(cell(counts));
  };
  const auto add_bytes = [&](std::string label, int64_t VariantCounts::* bytes) {
    add(std::move(label), [&](const VariantCounts& counts) { return byte_text(counts.*bytes); });
  };
  add("per decode step", [](const VariantCounts& counts) { return counts.name; });
  add("operators",
      [](const VariantCounts& counts) { return std::to_string(counts.compiled.operator_count()); });
  for (const std::string& type : operator_types(report)) {
    add("  " + type, [&](const VariantCounts& counts) {
      return std::to_string(count_of(counts.compiled, type));
    });
  }
  add("boundary tensors",
      [](const VariantCounts& counts) { return std::to_string(counts.compiled.boundary_tensors); });
  add("boundary bytes",
      [](const VariantCounts& counts) { return byte_text(counts.compiled.boundary_bytes); });
  add_bytes("  caches in", &VariantCounts::kv_bytes_in);
  add_bytes("  caches out", &VariantCounts::kv_bytes_out);
  add_bytes("context binary", &VariantCounts::context_bytes);
  add_bytes("weights", &VariantCounts::weight_bytes);
  return rows;
}

std::string finding_of(const VariantCountsReport& report) {
  const std::vector<std::string> more = excess_of_hf(report);
  const std::string finding =
      more.empty()
          ? "hf has no more operators, boundary tensors, boundary bytes or weight bytes than static"
          : fmt::format("hf has more {} than static", fmt::join(more, ", "));
  const int64_t larger =
      variant(report, "hf").context_bytes - variant(report, "static").context_bytes;
  if (larger <= 0) return finding;
  return fmt::format("{}; its context binary is {} larger", finding, byte_text(larger));
}

std::string counts_text(const VariantCountsReport& report) {
  const ExportedChip& chip = report.chip;
  std::string made_with;
  for (const auto& [name, version] : report.versions) {
    made_with += fmt::format("{}{} {}", made_with.empty() ? "" : ", ", name, version);
  }
  return fmt::format("{}, recipe {}, context {}, compiled for {} (HTP V{}) with {}\n\n{}\n{}\n",
                     report.source, report.recipe, report.context, chip.name, chip.arch, made_with,
                     table_text(rows_of(report)), finding_of(report));
}

nlohmann::ordered_json counts_json(const VariantCountsReport& report) {
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const VariantCounts& counts : report.variants) {
    variants.push_back({{"name", counts.name},
                        {"operators", counts.compiled.operator_count()},
                        {"operator_types", counts.compiled.operators},
                        {"boundary_tensors", counts.compiled.boundary_tensors},
                        {"boundary_bytes", counts.compiled.boundary_bytes},
                        {"kv_bytes_in", counts.kv_bytes_in},
                        {"kv_bytes_out", counts.kv_bytes_out},
                        {"context_bytes", counts.context_bytes},
                        {"weight_bytes", counts.weight_bytes}});
  }
  return {{"source", report.source},
          {"recipe", report.recipe},
          {"context", report.context},
          {"chip", report.chip.name},
          {"versions", report.versions},
          {"variants", variants},
          {"hf_has_more", excess_of_hf(report)}};
}

}  // namespace

void bench_counts(const CountsArguments& arguments) {
  VariantCountsOptions options = arguments.options;
  options.compile.progress = progress;
  const VariantCountsReport report = count_variants(arguments.source, options);
  if (arguments.json) {
    print_json(counts_json(report));
  } else {
    std::cout << counts_text(report);
  }
  if (!excess_of_hf(report).empty()) throw CLI::RuntimeError(1);
}

}  // namespace lathe::cli
