#include "graph/attribute_meaning.h"

#include <fmt/format.h>

#include <cmath>

namespace lathe {
namespace {

bool is_dimension(std::string_view name) {
  return name == "dim" || name == "dim0" || name == "dim1";
}

bool repeats_output(Op op, const Attributes::Entry& entry) {
  const auto& [name, item] = entry;
  switch (op) {
    case Op::expand:
    case Op::reshape:
    case Op::view:
    case Op::zeros:
      return name == "sizes";
    case Op::slice:
      return name == "end" || (name == "step" && item == Attributes::Item(int64_t{1}));
    case Op::to:
      return name == "dtype";
    default:
      return false;
  }
}

std::string number(double real) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: every integer below is a double
  if (std::trunc(real) == real && std::abs(real) < kExact) {
    return std::to_string(static_cast<int64_t>(real));
  }
  return fmt::format("{}", real);
}

std::string text(const Attributes::Item& item) {
  if (const auto* integer = std::get_if<int64_t>(&item)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&item)) return number(*real);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&item)) return to_string(*list);
  return std::get<std::string>(item);
}

}  // namespace

std::map<std::string, std::string> attribute_meaning(const Graph& graph, const Node& node) {
  std::map<std::string, std::string> meaning;
  for (const Attributes::Entry& entry : node.attributes.entries()) {
    if (repeats_output(node.op, entry)) continue;
    const auto* dimension = std::get_if<int64_t>(&entry.second);
    if (dimension != nullptr && *dimension < 0 && is_dimension(entry.first)) {
      // Counted in the output for unsqueeze, which has one dimension more than its input.
      const Value& counted = graph.value(
          node.op == Op::unsqueeze || node.inputs.empty() ? node.output() : node.inputs.front());
      meaning[entry.first] =
          std::to_string(*dimension + static_cast<int64_t>(counted.shape.size()));
    } else {
      meaning[entry.first] = text(entry.second);
    }
  }
  if (node.op == Op::transpose && meaning["dim1"] < meaning["dim0"]) {
    std::swap(meaning["dim0"], meaning["dim1"]);
  }
  return meaning;
}

}  // namespace lathe
