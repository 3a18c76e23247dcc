#pragma once

#include <string>
#include <string_view>

#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/pass.h"

namespace lathe::test {

/// A textual graph behind a pass, verified before and after.
inline std::string after_pass(std::string_view text, void (*pass)(Graph&)) {
  Graph graph = parse_graph(text);
  verify(graph);
  pass(graph);
  verify(graph);
  return print_graph(graph);
}

inline std::string after_pass(std::string_view text, void (*pass)(Graph&, const PassOptions&),
                              const PassOptions& options = {}) {
  Graph graph = parse_graph(text);
  verify(graph);
  pass(graph, options);
  verify(graph);
  return print_graph(graph);
}

}  // namespace lathe::test
