#include "passes/pass.h"

namespace lathe {

void dead_code(Graph& graph) { graph.remove_dead(); }

}  // namespace lathe
