#include "graph/diff/numbered_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/text.h"

namespace lathe {
namespace {

std::string show(const std::optional<QuantSpec>& spec) { return spec ? to_string(*spec) : "none"; }

}  // namespace

std::string either(std::string_view what, std::string_view first, std::string_view second) {
  return fmt::format("{}: {} and {}", what, first, second);
}

std::string type_difference(const Value& a, const Value& b) {
  if (a.shape != b.shape) return either("shape", to_string(a.shape), to_string(b.shape));
  if (a.dtype != b.dtype) return either("type", name_of(a.dtype), name_of(b.dtype));
  if (a.spec != b.spec) return either("spec", show(a.spec), show(b.spec));
  if (a.read_as != b.read_as) return either("read as", show(a.read_as), show(b.read_as));
  if (a.encoding == b.encoding) return {};
  const std::string first = a.encoding ? to_string(*a.encoding) : "none";
  const std::string second = b.encoding ? to_string(*b.encoding) : "none";
  if (first != second) return either("encoding", first, second);
  const std::vector<float>& x = a.encoding->scale;
  const std::vector<float>& y = b.encoding->scale;
  const auto [i, j] = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
  if (i == x.end() || j == y.end()) {
    return either("zero point", std::to_string(a.encoding->zero_point),
                  std::to_string(b.encoding->zero_point));
  }
  return either(fmt::format("scale of channel {}", i - x.begin()), fmt::format("{}", *i),
                fmt::format("{}", *j));
}

NumberedGraphs::NumberedGraphs(const Graph& first, const Graph& second,
                               ValueNumbers::NoData no_data, ValueNumbers::Movement movement)
    : graphs_{&first, &second}, no_data_(no_data) {
  ValueNumbers numbers(no_data, movement);
  numbers_ = {numbers.number(first), numbers.number(second)};
}

std::vector<Pair> NumberedGraphs::operands(const Node& a, const Node& b) const {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < a.inputs.size(); ++i) pairs.push_back({a.inputs[i], b.inputs[i]});
  if (!is_commutative(a)) return pairs;
  const std::vector<Pair> crossed{{a.inputs[0], b.inputs[1]}, {a.inputs[1], b.inputs[0]}};
  return likeness(crossed) > likeness(pairs) ? crossed : pairs;
}

std::vector<NumberedGraphs::OutputPair> NumberedGraphs::outputs() const {
  std::vector<OutputPair> pairs;
  for (const GraphOutput& a : graph(0).outputs()) {
    for (const GraphOutput& b : graph(1).outputs()) {
      if (a.name == b.name) pairs.push_back({a.name, {a.value, b.value}});
    }
  }
  return pairs;
}

std::optional<NumberedGraphs::OutputPair> NumberedGraphs::first_unlike_output() const {
  for (OutputPair& output : outputs()) {
    if (!alike(output.values)) return std::move(output);
  }
  return std::nullopt;
}

GraphDifference NumberedGraphs::describe(const Pair& pair, std::string what) const {
  GraphDifference difference;
  difference.what = std::move(what);
  difference.first = print_value(graph(0), pair[0]);
  difference.second = print_value(graph(1), pair[1]);
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* node = producer(side, pair);
    if (difference.module.empty() && node != nullptr) difference.module = node->module;
  }
  return difference;
}

int NumberedGraphs::likeness(std::span<const Pair> pairs) const {
  int points = 0;
  for (const Pair& pair : pairs) {
    const Node* a = producer(0, pair);
    const Node* b = producer(1, pair);
    const bool same_kind = a == nullptr || b == nullptr ? a == b : a->op == b->op;
    points += alike(pair) ? 2 : same_kind ? 1 : 0;
  }
  return points;
}

}  // namespace lathe
