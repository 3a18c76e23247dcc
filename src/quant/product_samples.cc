#include "quant/product_samples.h"

#include <algorithm>

#include "graph/groups.h"
#include "quant/scale_search.h"

namespace lathe {
namespace {

/// The value whose rows a product multiplies, in front of what only lays them out for it.
ValueId source_of(const Graph& graph, ValueId input) {
  const Node* node = graph.producer(input);
  while (node != nullptr &&
         (node->op == Op::reshape || node->op == Op::view || node->op == Op::permute)) {
    input = node->inputs[0];
    node = graph.producer(input);
  }
  return input;
}

}  // namespace

ProductSamples::ProductSamples(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!is_weight(node, 1) || !graph.value(node.inputs[1]).is_constant()) continue;
    const ValueId source = source_of(graph, node.inputs[0]);
    sources_.emplace(id, source);
    rows_[source].width = graph.value(node.inputs[1]).shape.at(1);
  }
}

void ProductSamples::observe(ValueId value, std::span<const float> numbers) {
  const auto found = rows_.find(value);
  if (found == rows_.end() || !found->second.numbers.empty()) return;
  Rows& rows = found->second;
  const auto count = static_cast<int64_t>(numbers.size()) / rows.width;
  const int64_t wanted = std::min(count, kSearchRows);
  for (int64_t i = 0; i < wanted; ++i) {
    const auto row = numbers.subspan(static_cast<size_t>(i * count / wanted * rows.width),
                                     static_cast<size_t>(rows.width));
    rows.numbers.insert(rows.numbers.end(), row.begin(), row.end());
  }
}

std::span<const float> ProductSamples::of(NodeId product) const {
  const auto source = sources_.find(product);
  if (source == sources_.end()) return {};
  return rows_.at(source->second).numbers;
}

}  // namespace lathe
