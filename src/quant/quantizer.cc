#include "quant/quantizer.h"

#include <utility>

#include "quant/convert.h"
#include "support/error.h"

namespace lathe {
namespace {

std::vector<GroupReport> report(const Graph& graph, const Annotation& annotation,
                                const RangeTable& ranges, const EncodingTable& encodings) {
  std::vector<GroupReport> reports;
  for (int32_t group = 0; group < annotation.groups.count(); ++group) {
    const std::vector<ValueId>& sources = annotation.groups.sources(group);
    const Node* producer = graph.producer(sources.front());
    GroupReport entry;
    entry.value = graph.value(sources.front()).name;
    entry.module = producer == nullptr ? std::string() : producer->module;
    entry.kind = annotation.kinds[static_cast<size_t>(group)];
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

QuantizedModel quantize_model(std::span<const Graph> graphs, const Graph& calibration,
                              const Recipe& recipe, const FloatRun& run,
                              std::span<const CalibrationBatch> batches, ThreadPool& pool) {
  if (graphs.empty()) fail({.what = "there is no graph to quantize"});
  QuantizedModel model;
  model.weights = choose_weights(recipe, graphs.front());

  std::vector<Graph> annotated(graphs.begin(), graphs.end());
  for (const Graph& graph : annotated) require_same_structure(graph, calibration);
  std::vector<Annotation> annotations;
  for (Graph& graph : annotated) annotations.push_back(annotate(graph, recipe));
  for (const Graph& graph : annotated) require_same_structure(annotated.front(), graph);

  const RangeTable ranges = calibrate(calibration, run, batches, pool);
  const EncodingTable encodings =
      make_encodings(annotated.front(), annotations.front(), ranges, recipe, pool);
  WeightCache cache;
  for (const Graph& graph : annotated) {
    model.graphs.push_back(convert(graph, encodings, cache, pool));
  }
  model.groups = report(annotated.front(), annotations.front(), ranges, encodings);
  return model;
}

}  // namespace lathe
