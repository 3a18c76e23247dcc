#include "passes/shards.h"

#include <algorithm>
#include <charconv>

#include "graph/split.h"
#include "support/error.h"

namespace lathe {
namespace {

/// The node's inputs, as far as nodes give them.
template <typename Job>
void for_each_producer(const Graph& graph, const Node& node, const Job& job) {
  for (const ValueId input : node.inputs) {
    if (const Node* producer = graph.producer(input)) job(*producer);
  }
}

bool reads_tokens(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const Value& value = graph.value(input);
    return value.producer == kNone && value.name == "tokens";
  });
}

}  // namespace

std::optional<int> layer_of(std::string_view module) {
  while (!module.empty()) {
    const std::string_view part = module.substr(0, module.find('.'));
    int number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc() && end == part.data() + part.size()) return number;
    module.remove_prefix(std::min(part.size() + 1, module.size()));
  }
  return std::nullopt;
}

int layer_count(const Graph& graph) {
  int count = 0;
  for (const NodeId id : graph.order()) {
    count = std::max(count, layer_of(graph.node(id).module).value_or(-1) + 1);
  }
  return count;
}

std::vector<Graph> split_layers(const Graph& graph, const ShardOptions& options) {
  const int layers = layer_count(graph);
  if (options.count < 1 || options.count > std::max(layers, 1)) {
    fail({.what = "the model cannot be cut into so many shards",
          .expected = "1 to " + std::to_string(layers) + ", its layers",
          .found = std::to_string(options.count)});
  }
  const int first = options.embedding_first ? 1 : 0;
  std::vector<int> part_of(static_cast<size_t>(graph.node_count()), kEveryPart);
  const auto part = [&](const Node& node) -> int& { return part_of[static_cast<size_t>(node.id)]; };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    int latest = kEveryPart;
    for_each_producer(graph, node,
                      [&](const Node& producer) { latest = std::max(latest, part(producer)); });
    if (reads_tokens(graph, node)) {
      part(node) = 0;
    } else if (const std::optional<int> layer = layer_of(node.module)) {
      part(node) = std::max(latest, first + *layer * options.count / layers);
    } else {
      part(node) = latest;
    }
  }
  return split_graph(graph, part_of);
}

}  // namespace lathe
