#include "api/compare_layers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "artifact/read.h"
#include "executors/ort/onnx_writer.h"
#include "executors/ort/session.h"
#include "executors/reference/evaluator_session.h"
#include "passes/pipelines.h"
#include "passes/shards.h"
#include "support/error.h"
#include "support/temporary_folder.h"
#include "support/thread_pool.h"

namespace lathe {
namespace {

OrtTarget target_of(const OpenOptions& options) {
  require_consistent(options);

  OrtTarget target{.threads = thread_count(options.threads)};
  if (options.executor == ExecutorKind::ort) return target;
  if (options.executor != ExecutorKind::htp) {
    fail({.what = "layers are compared with those of the reference executor",
          .expected = "--executor ort or htp",
          .found = std::string(name_of(options.executor))});
  }
  if (options.soc.empty()) {
    fail({.what = "executor htp needs a chip", .advice = "add --soc SM8750, for instance"});
  }
  target.htp = HtpOptions{.chip = find_chip(options.soc)};
  return target;
}

/// A session over a graph that is written to a folder of its own.
std::unique_ptr<Session> open_as_onnx(const Graph& graph, const OrtTarget& target) {
  const TemporaryFolder folder;
  const NamedGraph named{"decode", &graph};
  write_onnx({&named, 1}, folder.path());
  return make_ort_session(folder.path() / "decode.onnx", graph.io(), target);
}

std::unique_ptr<Session> open_reference(const Graph& graph) {
  return std::make_unique<ReferenceSession>(std::make_shared<const Graph>(graph));
}

/// What each layer hands on, and the logits.
std::vector<ValueId> layer_results(const Graph& graph) {
  std::vector<ValueId> results;
  const std::vector<std::vector<NodeId>> users = graph.users();
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const std::optional<int> layer = layer_of(node.module);
    const auto& readers = users[static_cast<size_t>(node.output())];
    const bool leaves = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return layer_of(graph.node(reader).module) != layer;
    });
    if (layer && leaves) results.push_back(node.output());
  }
  for (const GraphOutput& output : graph.outputs()) {
    if (output.name == "logits") results.push_back(output.value);
  }
  return results;
}

/// What nodes compute between two values, in order: behind `after` (kNone: from the start) up to
/// `last`.
std::vector<ValueId> results_between(const Graph& graph, ValueId after, ValueId last) {
  std::vector<ValueId> results;
  bool begun = after == kNone;
  for (const NodeId id : graph.order()) {
    const ValueId result = graph.node(id).output();
    const Value& value = graph.value(result);
    if (begun && value.encoding) results.push_back(result);
    if (result == after) begun = true;
    if (result == last) break;
  }
  return results;
}

bool departs(const ValueDifference& difference) { return difference.sqnr_db < kDepartsBelow; }

}  // namespace

LayerComparison compare_layers(const Graph& graph, const MakeSession& tested,
                               std::span<const int64_t> ids) {
  const auto compare = [&](std::span<const ValueId> values) {
    return compare_values(graph, values, open_reference, tested, ids);
  };
  const std::vector<ValueId> results = layer_results(graph);
  LayerComparison found{compare(results), {}};
  const auto first = std::find_if(found.layers.begin(), found.layers.end(), departs);
  if (first == found.layers.end()) return found;
  const auto at = static_cast<size_t>(first - found.layers.begin());
  const std::vector<ValueDifference> operators =
      compare(results_between(graph, at == 0 ? kNone : results[at - 1], results[at]));
  const auto operation = std::find_if(operators.begin(), operators.end(), departs);
  found.first_departure = operation == operators.end() ? *first : *operation;
  return found;
}

LayerComparison compare_layers(const std::filesystem::path& artifact, const OpenOptions& options,
                               std::span<const int64_t> ids) {
  const OrtTarget target = target_of(options);
  const Model model = read_model(artifact);
  Graph graph = model.graph(GraphRole::decode);
  run_passes(graph, export_pipeline(target.htp ? Target::htp : Target::cpu), {});
  return compare_layers(
      graph, [&](const Graph& watched) { return open_as_onnx(watched, target); }, ids);
}

}  // namespace lathe
