#pragma once

#include <string_view>
#include <vector>

#include "artifact/container.h"
#include "graph/graph.h"

namespace lathe {

/// The graphs of an artifact from their JSON; constants point into the container. Throws Error for
/// anything that store_graphs would not have written.
std::vector<Graph> load_graphs(std::string_view json, const Container& container);

}  // namespace lathe
