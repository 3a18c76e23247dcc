#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lathe::testing {

/// The static float graph of tests/data/tiny/`name`, from Hugging Face's, for 12 tokens and no
/// cache.
Graph tiny_model(const std::string& name);

/// What a graph of tiny_model() computes of 12 tokens.
struct Outcome {
  std::vector<float> logits;
  std::vector<float> stream;  ///< the residual stream in front of the final norm
};
Outcome run_tiny(const Graph& graph);

/// Numbers that two forms of one graph give.
void expect_close(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace lathe::testing
