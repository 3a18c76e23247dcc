#include "api/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/stored_bytes.h"
#include "support/error.h"

namespace lathe {
namespace {

// What a context binary was seen to have beside its weights: a share of them for their layout, and
// the graphs' own instructions.
constexpr double kLayoutShare = 0.05;
constexpr int64_t kInstructions = 5'000'000;

bool fits(const ContextGraphs& graphs, const ShardOptions& shards, int64_t limit) {
  std::vector<std::vector<Graph>> cut;  // [graph][part]
  for (const Graph* graph : graphs) cut.push_back(split_layers(*graph, shards));
  for (size_t part = shards.embedding_first ? 1 : 0; part < cut.front().size(); ++part) {
    ContextGraphs context;
    for (const std::vector<Graph>& parts : cut) context.push_back(&parts[part]);
    if (estimate_context(context).bytes > limit) return false;
  }
  return true;
}

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

void require_fit(const ContextEstimate& estimate, int64_t limit) {
  if (estimate.bytes <= limit) return;
  fail({.what = "the model is too large for one context",
        .expected = fmt::format("at most {} bytes", limit),
        .found = fmt::format("about {}", estimate.bytes),
        .advice = "cut it with --shards, or leave the table out with --embedding host"});
}

int plan_shards(const ContextGraphs& graphs, const ShardOptions& least, int64_t limit) {
  const int layers = std::max(layer_count(*graphs.front()), 1);
  ShardOptions shards = least;
  shards.count = std::clamp(least.count, 1, layers);
  while (shards.count < layers && !fits(graphs, shards, limit)) ++shards.count;
  return shards.count;
}

}  // namespace lathe
