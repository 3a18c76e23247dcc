#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "api/variants.h"

namespace lathe::cli {

/// A row of the comparison: what it is about, and how each variant does, in the report's order.
struct VariantRow {
  std::string label;
  std::vector<std::string> cells;
};

/// A line for each row, its cells in columns; the first row is the head.
std::string table_text(std::span<const VariantRow> rows);

/// What the numbers were taken on: "SmolLM2, recipe ..., context 1024, ...".
std::string variants_heading(const VariantsReport& report);
std::vector<VariantRow> variant_rows(const VariantsReport& report);
/// What follows from them, a sentence each: ratios of speed, and how the graphs of hf and static
/// compare.
std::vector<std::string> variant_findings(const VariantsReport& report);

/// All of it as text, and as JSON with exact numbers.
std::string variants_text(const VariantsReport& report);
nlohmann::ordered_json variants_json(const VariantsReport& report);

/// 16760832 -> "16.8 MB"
std::string byte_text(int64_t bytes);
nlohmann::ordered_json spread_json(const Spread& spread);

}  // namespace lathe::cli
