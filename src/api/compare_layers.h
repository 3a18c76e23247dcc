#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/value_differences.h"
#include "lathe/language_model.h"

namespace lathe {

/// Where an executor departs from the reference executor, which runs the same graph.
struct LayerComparison {
  std::vector<ValueDifference> layers;  ///< what each layer gives, the logits last
  /// The first operator in the worst of the first departing layer whose result is not within
  /// kDepartsBelow; none where all layers are.
  std::optional<ValueDifference> first_departure;
};

/// A value with less than this SQNR (dB) departs: what docs/numerics.md allows a whole model.
inline constexpr double kDepartsBelow = 35.0;

/// Runs a decode graph over `ids` in the sessions that `tested` makes and in the reference
/// executor.
LayerComparison compare_layers(const Graph& graph, const MakeSession& tested,
                               std::span<const int64_t> ids);

/// Runs the decode graph of an artifact over `ids`, in the form that an export gives it, in
/// executor options.executor (ort, or htp for chip options.soc) and in the reference executor.
/// Throws Error for other executors, and for what these executors refuse.
LayerComparison compare_layers(const std::filesystem::path& artifact, const OpenOptions& options,
                               std::span<const int64_t> ids);

}  // namespace lathe
