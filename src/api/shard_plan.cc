#include "api/shard_plan.h"

#include <fmt/format.h>

#include <set>

#include "graph/stored_bytes.h"

namespace lathe {
namespace {

// What a context binary was seen to have beside its weights: a share of them for their layout, and
// the graphs' own instructions.
constexpr double kLayoutShare = 0.05;
constexpr int64_t kInstructions = 5'000'000;

}  // namespace

ContextEstimate estimate_context(const ContextGraphs& graphs) {
  ContextEstimate estimate;
  std::set<std::string> counted;
  for (const Graph* graph : graphs) {
    for (const NodeId id : graph->order()) {
      for (const ValueId input : graph->node(id).inputs) {
        const Value& value = graph->value(input);
        if (!value.is_constant() || !counted.insert(value.constant->name).second) continue;
        estimate.weight_bytes += stored_bytes(value);
      }
    }
  }
  estimate.bytes = estimate.weight_bytes + kInstructions +
                   static_cast<int64_t>(kLayoutShare * static_cast<double>(estimate.weight_bytes));
  return estimate;
}

std::string describe(const ContextEstimate& estimate) {
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  return fmt::format(
      "weights {:.1f} MB, context about {:.0f} MB of the {:.0f} MB that a graph may have",
      megabytes(estimate.weight_bytes), megabytes(estimate.bytes), megabytes(kContextLimit));
}

}  // namespace lathe
