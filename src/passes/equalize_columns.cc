// Before:                                       After:
//   %h = rms_norm(%x, g)                          %h = rms_norm(%x, g / s)
//   %q = linear(%h, Wq)                           %q = linear(%h, Wq diag(s))
//   %k = linear(%h, Wk)                           %k = linear(%h, Wk diag(s))

#include "passes/equalize_columns.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/constant_floats.h"
#include "passes/match.h"
#include "passes/scaled_weights.h"

namespace lathe {
namespace {

/// A norm with a weight of its own, and what reads it: projections and nothing else.
struct Norm {
  NodeId id = kNone;
  std::vector<NodeId> readers;
};

bool has_own_weight(const Graph& graph, const Node& norm) {
  if (!has_floats(graph, norm.inputs[1])) return false;
  const std::vector<float> gamma = constant_floats(graph.value(norm.inputs[1]));
  return std::any_of(gamma.begin(), gamma.end(), [](float g) { return g != 1.0f; });
}

/// Those norms whose module `table` has.
std::vector<Norm> norms_of(const Graph& graph,
                           const std::map<std::string, std::vector<float>>& table) {
  std::vector<Norm> norms;
  const Users users = graph.users();
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::rms_norm || !table.contains(node.module)) continue;
    std::optional<std::vector<NodeId>> readers = projections_reading(graph, users, node.output());
    const auto known = [&](NodeId reader) {
      return has_floats(graph, graph.node(reader).inputs[1]);
    };
    if (!readers || !std::all_of(readers->begin(), readers->end(), known)) continue;
    if (has_own_weight(graph, node)) norms.push_back({id, *std::move(readers)});
  }
  return norms;
}

/// max |W_j| of every column of a weight [rows, columns], taken into `largest` [columns].
void include_columns(const Graph& graph, ValueId weight, std::vector<float>& largest) {
  const FloatSource& source = *graph.value(weight).constant->floats;
  const auto columns = static_cast<int64_t>(largest.size());
  std::vector<float> row(largest.size());
  for (int64_t r = 0; r < matrix_shape(graph, weight)[0]; ++r) {
    source.read(r * columns, columns, row.data());
    for (size_t j = 0; j < row.size(); ++j) largest[j] = std::max(largest[j], std::fabs(row[j]));
  }
}

std::vector<float> factors_of(const std::vector<float>& activations,
                              const std::vector<float>& weights) {
  std::vector<float> factors(activations.size(), 1.0f);
  double logarithms = 0.0;
  size_t known = 0;
  const auto is_known = [&](size_t j) { return activations[j] > 0.0f && weights[j] > 0.0f; };
  for (size_t j = 0; j < factors.size(); ++j) {
    if (!is_known(j)) continue;
    factors[j] = std::sqrt(activations[j] / weights[j]);
    logarithms += std::log(factors[j]);
    ++known;
  }
  if (known == 0) return factors;
  const auto mean = static_cast<float>(std::exp(logarithms / static_cast<double>(known)));
  // A channel that calibration hardly saw must not be blown up without bound.
  constexpr float kLargest = 64.0f;
  for (size_t j = 0; j < factors.size(); ++j) {
    if (is_known(j)) factors[j] = std::clamp(factors[j] / mean, 1.0f / kLargest, kLargest);
  }
  return factors;
}

}  // namespace

ColumnFactors column_factors(const Graph& graph, const NormMagnitudes& magnitudes) {
  ColumnFactors factors;
  for (const Norm& norm : norms_of(graph, magnitudes)) {
    const std::string& module = graph.node(norm.id).module;
    const std::vector<float>& activations = magnitudes.at(module);
    std::vector<float> largest(activations.size(), 0.0f);  // [width]
    for (const NodeId reader : norm.readers) {
      include_columns(graph, graph.node(reader).inputs[1], largest);
    }
    factors[module] = factors_of(activations, largest);
  }
  return factors;
}

void equalize_columns(Graph& graph, const ColumnFactors& factors) {
  const auto floats = [&](NodeId id) {
    return graph.value(graph.node(id).inputs[1]).constant->floats;
  };
  for (const Norm& norm : norms_of(graph, factors)) {
    const std::vector<float>& columns = factors.at(graph.node(norm.id).module);
    std::vector<float> inverse;
    for (const float factor : columns) inverse.push_back(1.0f / factor);
    replace_weight(graph, norm.id, 1, scale_columns(floats(norm.id), std::move(inverse)), "weight");
    for (const NodeId reader : norm.readers) {
      replace_weight(graph, reader, 1, scale_columns(floats(reader), columns), "weight");
    }
  }
}

}  // namespace lathe
