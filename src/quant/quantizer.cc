#include "quant/quantizer.h"

#include <utility>

#include "graph/groups.h"
#include "support/error.h"

namespace lathe {
namespace {

std::vector<GroupReport> report(const Graph& graph, const RangeTable& ranges,
                                const EncodingTable& encodings) {
  std::vector<GroupReport> reports;
  const Groups groups(graph);
  for (int32_t group = 0; group < groups.count(); ++group) {
    const std::vector<ValueId>& sources = groups.sources(group);
    const Node* producer = graph.producer(sources.front());
    GroupReport entry;
    entry.value = graph.value(sources.front()).name;
    entry.module = producer == nullptr ? std::string() : producer->module;
    entry.spec = graph.value(sources.front()).spec.value();
    for (const ValueId source : sources) {
      if (static_cast<size_t>(source) < ranges.size()) {
        entry.range.include(ranges[static_cast<size_t>(source)]);
      }
    }
    entry.encoding = encodings[static_cast<size_t>(sources.front())].value();
    reports.push_back(std::move(entry));
  }
  return reports;
}

}  // namespace

QuantizedModel quantize_model(std::span<const Graph> graphs, const RangeTable& ranges, int headroom,
                              const WeightPlan& weights, ThreadPool& pool) {
  if (graphs.empty()) fail({.what = "there is no graph to quantize"});
  QuantizedModel model;
  for (const Graph& graph : graphs) require_same_structure(graphs.front(), graph);

  const EncodingTable encodings = make_encodings(graphs.front(), ranges, headroom, pool);
  WeightCache cache;
  for (const Graph& graph : graphs) {
    model.graphs.push_back(insert_qdq(graph, encodings, weights, cache, pool));
  }
  model.groups = report(graphs.front(), ranges, encodings);
  return model;
}

}  // namespace lathe
