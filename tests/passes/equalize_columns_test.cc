// Columns of the weights behind a norm are evened out: the graph changes, what it computes does
// not.

#include "passes/equalize_columns.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/constant_floats.h"
#include "graph/text.h"
#include "passes/pipelines.h"
#include "tiny_model.h"

namespace lathe {
namespace {

using testing::expect_close;
using testing::Outcome;
using testing::run_tiny;
using testing::tiny_model;

/// Made up, for every norm of a graph.
NormMagnitudes some_magnitudes(const Graph& graph) {
  NormMagnitudes magnitudes;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::rms_norm) continue;
    std::vector<float>& channels = magnitudes[node.module];
    for (int64_t j = 0; j < graph.value(node.output()).shape.back(); ++j) {
      channels.push_back(0.5f + static_cast<float>(j * j % 13));
    }
  }
  return magnitudes;
}

// The columns' largest are 1, 4, 1 and 0: their square roots are shared with the activations'. One
// that the weights do not use stays as it is.
TEST(EqualizeColumns, WeightsAndActivationsShareTheSpread) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 4]
    const %norm.weight : f32[4]
    const %q.weight : f32[2, 4]
    const %k.weight : f32[1, 4]
    %h = lathe.rms_norm(%x, %norm.weight) {eps=1e-06} : f32[1, 4] @ norm
    %q = aten.linear(%h, %q.weight) : f32[1, 2] @ q
    %k = aten.linear(%h, %k.weight) : f32[1, 1] @ k
    output q = %q
    output k = %k)");
  const auto set = [&](const char* name, std::vector<float> numbers) {
    graph.set_constant(graph.find(name), float_constant(name, std::move(numbers)));
  };
  set("norm.weight", {2, 2, 2, 2});
  set("q.weight", {1, -4, 0.5, 0, 0.5, 1, 1, 0});
  set("k.weight", {-1, 2, 1, 0});

  const ColumnFactors factors = column_factors(graph, {{"norm", {1, 1, 4, 1}}});
  EXPECT_EQ(factors, (ColumnFactors{{"norm", {1, 0.5, 2, 1}}}));
  equalize_columns(graph, factors);
  const auto weight_of = [&](const char* value) {
    return constant_floats(graph.value(graph.producer(graph.find(value))->inputs[1]));
  };
  EXPECT_EQ(weight_of("h"), (std::vector<float>{2, 4, 1, 2}));
  EXPECT_EQ(weight_of("q"), (std::vector<float>{1, -2, 1, 0, 0.5, 0.5, 2, 0}));
  EXPECT_EQ(weight_of("k"), (std::vector<float>{-1, 1, 2, 0}));
}

// Gemma 2 and 3 have norms behind attention and MLP as well, Gemma 3 norms of queries and keys.
TEST(EqualizeColumns, LogitsStay) {
  for (const char* name : {"llama", "gemma2", "gemma3", "olmo2"}) {
    SCOPED_TRACE(name);
    Graph graph = tiny_model(name);
    const Outcome before = run_tiny(graph);
    const int64_t values = graph.value_count();
    equalize_columns(graph, column_factors(graph, some_magnitudes(graph)));
    expect_close(run_tiny(graph).logits, before.logits);
    EXPECT_GT(graph.value_count(), values) << "no weight was changed";
  }
}

// Only norms that projections alone read, and so not those behind attention and MLP.
TEST(EqualizeColumns, NormsInFrontOfProjectionsHaveFactors) {
  const Graph graph = tiny_model("gemma3");
  std::vector<std::string> modules;
  for (const auto& [module, factors] : column_factors(graph, some_magnitudes(graph))) {
    modules.push_back(module);
    EXPECT_EQ(factors.size(), 64u);
  }
  EXPECT_EQ(modules,
            (std::vector<std::string>{
                "model.layers.0.input_layernorm", "model.layers.0.pre_feedforward_layernorm",
                "model.layers.1.input_layernorm", "model.layers.1.pre_feedforward_layernorm",
                "model.layers.2.input_layernorm", "model.layers.2.pre_feedforward_layernorm",
                "model.norm"}));
}

// The output layer of a model with tied embeddings changes, the embedding does not.
TEST(EqualizeColumns, TheEmbeddingStays) {
  Graph graph = tiny_model("gemma3");
  const auto table = [&] {
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.op == Op::embedding) return constant_floats(graph.value(node.inputs[0]));
    }
    return std::vector<float>();
  };
  const std::vector<float> before = table();
  equalize_columns(graph, column_factors(graph, some_magnitudes(graph)));
  EXPECT_EQ(table(), before);
}

TEST(EqualizeColumns, ARotatedStreamIsLeftAlone) {
  Graph graph = tiny_model("llama");
  const NormMagnitudes magnitudes = some_magnitudes(graph);
  run_passes(graph, rotations());
  EXPECT_TRUE(column_factors(graph, magnitudes).empty());
}

}  // namespace
}  // namespace lathe
