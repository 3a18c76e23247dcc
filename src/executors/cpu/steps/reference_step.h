#pragma once

#include <memory>
#include <vector>

#include "executors/cpu/place.h"
#include "graph/graph.h"

namespace lathe {

/// One node as the reference executor computes it: for operators and forms that have no step of
/// their own. Exact but slow, and the only kind of step that allocates while it runs.
struct ReferenceSpec {
  std::shared_ptr<const Graph> graph;
  NodeId node = kNone;
  std::vector<Place> inputs;      ///< dense
  std::vector<BufferId> outputs;  ///< dense
};
std::unique_ptr<Step> make_reference_step(ReferenceSpec spec);

}  // namespace lathe
