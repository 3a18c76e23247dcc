#include "passes/equalize_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_model.h"

namespace lathe {
namespace {

using testing::expect_close;
using testing::Outcome;
using testing::run_tiny;
using testing::tiny_model;

size_t layers_of(const Graph& graph) {
  size_t layers = 0;
  while (graph.io().find_output("k_new_" + std::to_string(layers)) != nullptr) ++layers;
  return layers;
}

// Whole heads rotate, or 12 of 16 dimensions: those that rotate together share a factor, the rest
// have their own. Norms may stand between: one weight for every head, or one for all together.
TEST(EqualizeKeys, KeysBecomeEquallyLargeAndLogitsStay) {
  for (const char* name : {"llama", "phi3_longrope", "qwen3", "gemma3", "olmo2"}) {
    SCOPED_TRACE(name);
    Graph graph = tiny_model(name);
    const Outcome before = run_tiny(graph);
    const Shape keys = graph.io().find_output("k_new_0")->shape;  // [1, Hkv, D, tokens]
    KeyMagnitudes magnitudes(layers_of(graph));                   // made up
    for (std::vector<float>& layer : magnitudes) {
      for (int64_t i = 0; i < keys[1] * keys[2]; ++i) {
        layer.push_back(0.5f + static_cast<float>(i * i % 13));
      }
    }
    const int64_t values = graph.value_count();
    equalize_keys(graph, magnitudes);
    expect_close(run_tiny(graph).logits, before.logits);
    EXPECT_GE(graph.value_count(), values + 2 * static_cast<int64_t>(magnitudes.size()))
        << "queries and keys of every layer change";
  }
}

}  // namespace
}  // namespace lathe
