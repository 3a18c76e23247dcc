#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/annotate.h"
#include "quant/calibrate.h"
#include "quant/recipe.h"
#include "support/thread_pool.h"

namespace lathe {

/// What quantization did to a group of values that share an encoding.
struct GroupReport {
  std::string value;   ///< the first value whose numbers make the group
  std::string module;  ///< of the node that computes it; empty for inputs and constants
  GroupKind kind = GroupKind::activation;
  ValueRange range;  ///< observed; empty where the encoding is fixed or comes from constants alone
  Encoding encoding;
};

struct QuantizedModel {
  std::vector<Graph> graphs;          ///< integer graphs, in the order of the float graphs
  std::vector<GroupReport> groups;    ///< in order of value ids
  std::vector<WeightChoice> weights;  ///< which rule of the recipe each weight got
};

/// The whole way from float graphs to integer graphs: annotate, calibrate, convert.
///
/// `graphs`: one float graph for each role that is wanted (decode, prefill), after all passes.
/// `calibration`: the float graph of role calibrate, of any length; `run` runs such a graph, as the
/// same passes left it, over each of `batches`. The result does not depend on the number of
/// threads. Throws Error where roles differ, a rule of the recipe matches nothing, or a number is
/// NaN or infinite; the first two before anything is run.
QuantizedModel quantize_model(std::span<const Graph> graphs, const Graph& calibration,
                              const Recipe& recipe, const FloatRun& run,
                              std::span<const CalibrationBatch> batches, ThreadPool& pool);

}  // namespace lathe
