#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/calibrate.h"
#include "quant/convert.h"
#include "support/thread_pool.h"

namespace lathe {

/// What quantization did to a group of values that share an encoding.
struct GroupReport {
  std::string value;   ///< the first value whose numbers make the group
  std::string module;  ///< of the node that computes it; empty for inputs and constants
  QuantSpec spec;
  ValueRange range;  ///< observed; empty where the encoding is fixed or comes from constants alone
  Encoding encoding;
};

struct QuantizedModel {
  std::vector<Graph> graphs;        ///< insert_qdq of each, in the order given
  std::vector<GroupReport> groups;  ///< in order of value ids
};

/// From annotated float graphs, one for each role that is wanted, to quantized ones.
///
/// `ranges` are those of the values before annotation, by id (see calibrate), `headroom` percent of
/// what 16-bit activations get beyond them (see with_headroom). `weights` has a
/// format for each product with a weight (choose_weights). The result does not depend on the number
/// of threads. Throws Error where roles differ, a value has no range, or a weight is NaN or
/// infinite.
QuantizedModel quantize_model(std::span<const Graph> graphs, const RangeTable& ranges, int headroom,
                              const WeightPlan& weights, ThreadPool& pool);

}  // namespace lathe
