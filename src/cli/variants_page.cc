#include "cli/variants_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "cli/html.h"
#include "cli/variants_table.h"

namespace lathe::cli {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --text: #1c2024; --faint: #60646c; --line: #d9dce0;
  --page: #ffffff; --c0: #3b6fb6; --c1: #c2622d; --c2: #3d8c57; --c3: #8a5bb0; --c4: #8b8d98; }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --faint: #a0a4ab; --line: #3a3f45;
  --page: #16181b; --c0: #6ea3e8; --c1: #e8935f; --c2: #6fc28b; --c3: #b892dc; --c4: #a9abb6; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin: 0 0 .3rem; } p { color: var(--faint); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.5rem; }
svg { width: 100%; height: auto; } svg text { font-size: 13px; fill: var(--text); }
.c0 { fill: var(--c0); } .c1 { fill: var(--c1); } .c2 { fill: var(--c2); } .c3 { fill: var(--c3); }
.c4 { fill: var(--c4); } .range { stroke: var(--text); stroke-width: 1.5; }
table { border-collapse: collapse; width: 100%; margin: 2rem 0 1rem; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; white-space: pre; }
)";

/// A bar of a chart: parts one behind the other, and where samples lay, in the chart's unit.
struct Bar {
  std::string label;
  std::vector<double> parts;
  std::string text;
  Spread range = {};
};

double total(const Bar& bar) {
  double sum = 0.0;
  for (const double part : bar.parts) sum += part;
  return sum;
}

std::string chart(const std::string& title, const std::vector<Bar>& bars) {
  constexpr double kLeft = 100.0;
  constexpr double kWidth = 190.0;
  constexpr int kRow = 28;
  double most = 0.0;
  for (const Bar& bar : bars) most = std::max({most, total(bar), bar.range.max});
  const double scale = most > 0.0 ? kWidth / most : 0.0;

  std::string label = title;
  for (const Bar& bar : bars) label += fmt::format("; {}: {}", bar.label, bar.text);
  std::string svg = fmt::format(
      "<section><h2>{}</h2><svg viewBox=\"0 0 400 {}\" role=\"img\" aria-label=\"{}\">\n",
      escape_html(title), kRow * static_cast<int>(bars.size()), escape_html(label));
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const int top = kRow * static_cast<int>(i);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 8.0,
                       top + 18, escape_html(bar.label));
    double x = kLeft;
    for (size_t part = 0; part < bar.parts.size(); ++part) {
      const double width = bar.parts[part] * scale;
      // A bar of one part has the colour of its variant, parts have colours of their own.
      svg += fmt::format(
          "<rect class=\"c{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"20\"/>\n",
          bar.parts.size() == 1 ? i : part, x, top + 4, width);
      x += width;
    }
    if (bar.range.max > 0.0) {
      const double low = kLeft + bar.range.min * scale;
      const double high = kLeft + bar.range.max * scale;
      svg +=
          fmt::format("<line class=\"range\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>\n",
                      low, high, top + 14, top + 14);
      x = std::max(x, high);
    }
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n", x + 6.0, top + 18,
                       escape_html(bar.text));
  }
  return svg + "</svg></section>\n";
}

std::string chart_of(const VariantsReport& report, const std::string& title,
                     const std::function<Bar(const VariantResult&)>& bar_of) {
  std::vector<Bar> bars;
  for (const VariantResult& result : report.variants) {
    bars.push_back(bar_of(result));
    bars.back().label = result.name;
  }
  return chart(title, bars);
}

std::string byte_chart(const VariantsReport& report, const std::string& title,
                       const std::function<int64_t(const VariantResult&)>& bytes_of) {
  return chart_of(report, title, [&](const VariantResult& result) {
    const int64_t bytes = bytes_of(result);
    return Bar{{}, {static_cast<double>(bytes)}, byte_text(bytes)};
  });
}

std::string operator_chart(const VariantsReport& report) {
  std::string legend;
  for (int kind = 0; kind < kOperatorKinds; ++kind) {
    legend += fmt::format(
        "<svg viewBox=\"0 0 12 12\" style=\"width:.8em\" aria-hidden=\"true\"><rect class=\"c{}\" "
        "width=\"12\" height=\"12\"/></svg> {} ",
        kind, name_of(static_cast<OperatorKind>(kind)));
  }
  return chart_of(report, "Operators",
                  [](const VariantResult& result) {
                    Bar bar;
                    for (const int64_t count : result.summary.kinds) {
                      bar.parts.push_back(static_cast<double>(count));
                    }
                    bar.text = std::to_string(result.summary.operator_count());
                    return bar;
                  }) +
         "<p>" + legend + "</p>\n";
}

std::string charts(const VariantsReport& report) {
  const auto of = [](int64_t GraphSummary::* bytes) {
    return [bytes](const VariantResult& result) { return result.summary.*bytes; };
  };
  return chart_of(report, "Tokens per second",
                  [](const VariantResult& result) {
                    const Spread speed = spread(result.tokens_per_s);
                    return Bar{{}, {speed.median}, fmt::format("{:.1f}", speed.median), speed};
                  }) +
         byte_chart(report, "Caches read", of(&GraphSummary::kv_bytes_in)) +
         byte_chart(report, "Caches written", of(&GraphSummary::kv_bytes_out)) +
         byte_chart(report, "Weights read", of(&GraphSummary::weight_bytes)) +
         byte_chart(report, "Between nodes", of(&GraphSummary::activation_bytes)) +
         byte_chart(report, "Arena", [](const VariantResult& r) { return r.arena_bytes; }) +
         byte_chart(report, "Artifact", [](const VariantResult& r) { return r.artifact_bytes; });
}

std::string table(const VariantsReport& report) {
  std::string html = "<table>\n<tr><th>per decode step</th>";
  for (const VariantResult& result : report.variants) {
    html += fmt::format("<th>{}</th>", escape_html(result.name));
  }
  html += "</tr>\n";
  for (const VariantRow& row : variant_rows(report)) {
    html += fmt::format("<tr><td>{}</td>", escape_html(row.label));
    for (const std::string& cell : row.cells) html += fmt::format("<td>{}</td>", escape_html(cell));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string variants_page(const VariantsReport& report) {
  const std::string source = escape_html(report.source);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}: static, hf_mainline and hf</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<h1>{0}: static, hf_mainline and hf</h1>\n<p>{2}</p>\n<div class=\"charts\">\n",
      source, kStyle, escape_html(variants_heading(report)));
  page += charts(report) + "<div>" + operator_chart(report) + "</div>\n</div>\n" + table(report);
  page += "<ul>\n";
  for (const std::string& finding : variant_findings(report)) {
    page += "<li>" + escape_html(finding) + "</li>\n";
  }
  return page + "</ul>\n</body>\n</html>\n";
}

}  // namespace lathe::cli
