#include "graph/split.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<int>& part_of) : graph_(graph), part_of_(part_of) {
    for (const NodeId id : graph.order()) {
      for (const ValueId input : graph.node(id).inputs) read_by(id, input);
    }
  }

  Graph part(int index) const {
    Graph part = graph_;
    part.set_outputs(outputs_of(index));
    if (part.outputs().empty()) {
      fail({.what = "a part of the graph computes nothing", .found = std::to_string(index)});
    }
    std::vector<std::pair<ValueId, ValueId>> entries;
    for (const auto& [value, from] : crossing_) {
      if (from >= index) continue;
      const Value& crossing = graph_.value(value);
      // The name goes to the input; the node that has it is not in this part.
      part.rename(value, crossing.name + ".before");
      const ValueId entry = part.add_input(crossing.name, crossing.dtype, crossing.shape);
      part.set_value_type(entry, crossing.dtype, crossing.encoding);
      entries.emplace_back(value, entry);
    }
    part.replace_uses(entries);
    part.remove_dead();
    return part;
  }

 private:
  int part_of(NodeId node) const { return part_of_[static_cast<size_t>(node)]; }

  void read_by(NodeId reader, ValueId value) {
    const Node* producer = graph_.producer(value);
    if (producer == nullptr || part_of(producer->id) == kEveryPart) return;
    const int from = part_of(producer->id);
    if (from == part_of(reader)) return;
    if (part_of(reader) == kEveryPart || from > part_of(reader)) {
      fail({.what = "a part of the graph reads from a later one",
            .where = graph_.value(graph_.node(reader).output()).name,
            .found = graph_.value(value).name});
    }
    crossing_.emplace(value, from);
  }

  std::vector<GraphOutput> outputs_of(int index) const {
    std::vector<GraphOutput> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      const Node* producer = graph_.producer(output.value);
      // What no part computes alone is given by the first.
      const int from = producer == nullptr ? 0 : std::max(part_of(producer->id), 0);
      if (from == index) outputs.push_back(output);
    }
    for (const auto& [value, from] : crossing_) {
      if (from == index) outputs.push_back({graph_.value(value).name, value});
    }
    return outputs;
  }

  const Graph& graph_;
  const std::vector<int>& part_of_;
  std::set<std::pair<ValueId, int>> crossing_;  // with the part that computes it
};

}  // namespace

std::vector<Graph> split_graph(const Graph& graph, const std::vector<int>& part_of) {
  const Splitter splitter(graph, part_of);
  const int last = *std::max_element(part_of.begin(), part_of.end());
  std::vector<Graph> parts;
  for (int index = 0; index <= last; ++index) parts.push_back(splitter.part(index));
  return parts;
}

}  // namespace lathe
