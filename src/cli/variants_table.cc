#include "cli/variants_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace lathe::cli {
namespace {

using Cell = std::function<std::string(const VariantResult&)>;

std::string spread_text(const Spread& spread, int digits) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", spread.median, digits, spread.min, digits,
                     spread.max, digits);
}

std::string relation_text(const GraphDiff& diff) {
  const auto [first, second] = diff.nodes;
  switch (diff.relation) {
    case GraphRelation::isomorphic:
      return fmt::format("the graphs of hf and static are isomorphic, {} nodes", second);
    case GraphRelation::first_smaller:
    case GraphRelation::second_smaller:
      return fmt::format("the graphs of hf and static are the same function, in {} and {} nodes",
                         second, first);
    case GraphRelation::different:
      break;
  }
  return fmt::format(
      "the graphs of hf and static differ, {} and {} nodes; see lathe inspect --diff", second,
      first);
}

bool has_kind(const VariantsReport& report, size_t kind) {
  return std::any_of(report.variants.begin(), report.variants.end(),
                     [&](const VariantResult& result) { return result.summary.kinds[kind] > 0; });
}

nlohmann::ordered_json kinds_json(const GraphSummary& summary) {
  nlohmann::ordered_json kinds;
  for (size_t i = 0; i < summary.kinds.size(); ++i) {
    kinds[std::string(name_of(static_cast<OperatorKind>(i)))] = summary.kinds[i];
  }
  return kinds;
}

nlohmann::ordered_json result_json(const VariantResult& result) {
  const GraphSummary& summary = result.summary;
  return {{"name", result.name},
          {"operators", summary.operators},
          {"operator_kinds", kinds_json(summary)},
          {"weight_bytes", summary.weight_bytes},
          {"kv_bytes_in", summary.kv_bytes_in},
          {"kv_bytes_out", summary.kv_bytes_out},
          {"boundary_bytes", summary.boundary_bytes},
          {"activation_bytes", summary.activation_bytes},
          {"arena_bytes", result.arena_bytes},
          {"artifact_bytes", result.artifact_bytes},
          {"tokens_per_s", spread_json(spread(result.tokens_per_s))},
          {"perplexity", result.perplexity.perplexity},
          {"sqnr_db", result.agreement.sqnr_db},
          {"kl_mean", result.agreement.kl_mean},
          {"top1_agreement", result.agreement.top1_agreement}};
}

}  // namespace

std::string byte_text(int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", number / 1e6);
  if (bytes >= 1'000) return fmt::format("{:.1f} kB", number / 1e3);
  return fmt::format("{} B", bytes);
}

nlohmann::ordered_json spread_json(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

std::string variants_heading(const VariantsReport& report) {
  return fmt::format(
      "{}, recipe {}, context {}: {} tokens generated at depth {}, {} executor, {} threads",
      report.source, report.recipe, report.context, report.generate, report.depth, report.executor,
      report.threads);
}

std::vector<VariantRow> variant_rows(const VariantsReport& report) {
  std::vector<VariantRow> rows;
  const auto add = [&](std::string label, const Cell& cell) {
    VariantRow& row = rows.emplace_back();
    row.label = std::move(label);
    for (const VariantResult& result : report.variants) row.cells.push_back(cell(result));
  };
  const auto add_bytes = [&](std::string label, int64_t GraphSummary::* bytes) {
    add(std::move(label),
        [&](const VariantResult& result) { return byte_text(result.summary.*bytes); });
  };
  add("operators",
      [](const VariantResult& result) { return std::to_string(result.summary.operator_count()); });
  for (size_t kind = 0; kind < kOperatorKinds; ++kind) {
    if (!has_kind(report, kind)) continue;
    add(fmt::format("  {}", name_of(static_cast<OperatorKind>(kind))),
        [&](const VariantResult& result) { return std::to_string(result.summary.kinds[kind]); });
  }
  add_bytes("weights read", &GraphSummary::weight_bytes);
  add_bytes("caches in", &GraphSummary::kv_bytes_in);
  add_bytes("caches out", &GraphSummary::kv_bytes_out);
  add_bytes("other inputs and outputs", &GraphSummary::boundary_bytes);
  add_bytes("between nodes", &GraphSummary::activation_bytes);
  add("arena", [](const VariantResult& result) { return byte_text(result.arena_bytes); });
  add("artifact", [](const VariantResult& result) { return byte_text(result.artifact_bytes); });
  add("tokens/s",
      [](const VariantResult& result) { return spread_text(spread(result.tokens_per_s), 1); });
  add("perplexity", [](const VariantResult& result) {
    return fmt::format("{:.4f}", result.perplexity.perplexity);
  });
  add("logits against float", [](const VariantResult& result) {
    return fmt::format("{:.1f} dB", result.agreement.sqnr_db);
  });
  return rows;
}

std::vector<std::string> variant_findings(const VariantsReport& report) {
  return {"tokens/s of hf over static: " + spread_text(spread(report.hf_over_static), 3),
          "tokens/s of hf over hf_mainline: " + spread_text(spread(report.hf_over_hf_mainline), 3),
          relation_text(report.static_and_hf),
          fmt::format("perplexity of the checkpoint in float: {:.4f}, over {} tokens of {}",
                      report.float_perplexity, report.variants.front().perplexity.tokens,
                      report.built_in_text ? "the built-in text, which calibration saw too"
                                           : "the given text")};
}

std::string table_text(std::span<const VariantRow> rows) {
  size_t label_width = 0;
  size_t cell_width = 0;
  for (const VariantRow& row : rows) {
    label_width = std::max(label_width, row.label.size());
    for (const std::string& cell : row.cells) cell_width = std::max(cell_width, cell.size());
  }
  std::string text;
  for (const VariantRow& row : rows) {
    text += fmt::format("{:<{}}", row.label, label_width);
    for (const std::string& cell : row.cells) text += fmt::format("  {:>{}}", cell, cell_width);
    text += '\n';
  }
  return text;
}

std::string variants_text(const VariantsReport& report) {
  std::vector<VariantRow> rows = variant_rows(report);
  VariantRow head{"per decode step", {}};
  for (const VariantResult& result : report.variants) head.cells.push_back(result.name);
  rows.insert(rows.begin(), std::move(head));
  std::string text = fmt::format("{}\n\n{}\n", variants_heading(report), table_text(rows));
  for (const std::string& finding : variant_findings(report)) text += finding + '\n';
  return text;
}

nlohmann::ordered_json variants_json(const VariantsReport& report) {
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const VariantResult& result : report.variants) variants.push_back(result_json(result));
  return {{"source", report.source},
          {"recipe", report.recipe},
          {"executor", report.executor},
          {"threads", report.threads},
          {"context", report.context},
          {"depth", report.depth},
          {"generated", report.generate},
          {"variants", variants},
          {"hf_over_static", spread_json(spread(report.hf_over_static))},
          {"hf_over_hf_mainline", spread_json(spread(report.hf_over_hf_mainline))},
          {"hf_and_static", name_of(report.static_and_hf.relation)},
          {"float_perplexity", report.float_perplexity},
          {"text_tokens", report.variants.front().perplexity.tokens},
          {"built_in_text", report.built_in_text}};
}

}  // namespace lathe::cli
