#pragma once

#include <map>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Rows of the inputs of all products, for the search of weight scales (scale_search.h): at most
/// kSearchRows of each, taken evenly from the first text that is observed. Products of one input
/// share its rows.
class ProductSamples {
 public:
  /// `graph`: of any role of the model, before annotation.
  explicit ProductSamples(const Graph& graph);

  /// Numbers of one value, whole and in rows of channels. Values that no product reads are passed
  /// over, as is all but the first text.
  void observe(ValueId value, std::span<const float> numbers);

  /// Rows [rows, K] of the input of a product; nothing where none were seen.
  std::span<const float> of(NodeId product) const;

 private:
  struct Rows {
    int64_t width = 0;           // K
    std::vector<float> numbers;  // [rows, K]
  };
  std::map<NodeId, ValueId> sources_;
  std::map<ValueId, Rows> rows_;
};

}  // namespace lathe
