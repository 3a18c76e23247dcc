#include "artifact/model.h"

#include <algorithm>

#include "support/error.h"

namespace lathe {

const Graph* Model::find(GraphRole role) const {
  const auto found = std::find_if(graphs.begin(), graphs.end(),
                                  [&](const Graph& graph) { return graph.role() == role; });
  return found == graphs.end() ? nullptr : &*found;
}

const Graph& Model::graph(GraphRole role) const {
  const Graph* graph = find(role);
  if (graph == nullptr) {
    fail({.what = "the model has no " + std::string(name_of(role)) + " graph",
          .advice = "compile it again"});
  }
  return *graph;
}

}  // namespace lathe
