#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executors/session.h"
#include "graph/graph.h"

namespace lathe {

/// How far a value of a graph is in one executor from what it is in another.
struct ValueDifference {
  std::string name;
  std::string module;       ///< of the node that computes it
  std::string op;           ///< of that node: "conv2d"
  double sqnr_db = 0;       ///< 10 log10 of reference power over error power; infinity for no error
  int64_t worst_codes = 0;  ///< the largest difference of two codes
};

using MakeSession = std::function<std::unique_ptr<Session>(const Graph& graph)>;

/// Runs a decode graph over `ids` in two executors and compares `values` of it, in that order. The
/// executors take every step from the same caches, those of the reference, so what is found is the
/// difference of one step. Throws Error for values that are no codes per tensor, and for ids that
/// the graph does not take.
std::vector<ValueDifference> compare_values(const Graph& graph, std::span<const ValueId> values,
                                            const MakeSession& reference, const MakeSession& tested,
                                            std::span<const int64_t> ids);

}  // namespace lathe
