#include "tiny_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "executors/reference/evaluator.h"
#include "frontend/frontend.h"
#include "passes/pipelines.h"

namespace lathe::testing {
namespace {

constexpr int64_t kTokens = 12;

/// Each token sees itself and those before it, `window` of them together.
std::vector<float> causal_mask(int64_t window) {
  std::vector<float> mask(kTokens * kTokens, -255.0f);
  for (int64_t i = 0; i < kTokens; ++i) {
    for (int64_t j = std::max<int64_t>(0, i - window + 1); j <= i; ++j) {
      mask[static_cast<size_t>(i * kTokens + j)] = 0.0f;
    }
  }
  return mask;
}

}  // namespace

Graph tiny_model(const std::string& name) {
  Graph graph = build_hf_graph(Checkpoint::open(std::string(LATHE_TEST_DATA) + "/tiny/" + name),
                               {GraphRole::calibrate, kTokens, kTokens});
  run_passes(graph, pipeline_of(Variant::hf, Target::cpu).build);
  return graph;
}

Outcome run_tiny(const Graph& graph) {
  Evaluator evaluator(std::make_shared<const Graph>(graph));
  std::vector<int32_t> tokens;
  std::vector<int32_t> positions;
  for (int32_t i = 0; i < kTokens; ++i) {
    tokens.push_back(7 * i % 380);
    positions.push_back(i);
  }
  std::vector<float> mask = causal_mask(kTokens);
  std::vector<float> window_mask = causal_mask(graph.window());
  std::map<std::string, void*> inputs{{"tokens", tokens.data()},
                                      {"position", positions.data()},
                                      {"attention_mask", mask.data()},
                                      {"window_attention_mask", window_mask.data()}};
  for (const IoTensor& input : graph.io().inputs) {
    // What is not known is a cache of no slots.
    evaluator.bind_input(input.name, dense_view(input.dtype, input.shape, inputs[input.name]));
  }
  const Shape shape = graph.io().find_output("logits")->shape;
  Outcome result;
  result.logits.resize(static_cast<size_t>(elements(shape)));
  evaluator.bind_output("logits", dense_view(DType::f32, shape, result.logits.data()));
  ValueId stream = kNone;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).op == Op::rms_norm) stream = graph.node(id).inputs[0];
  }
  evaluator.observe([&](ValueId id, const TensorView& view) {
    if (id == stream) {
      result.stream.assign(view.as<float>(), view.as<float>() + elements(view.shape));
    }
  });
  evaluator.run();
  return result;
}

void expect_close(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4f) << "at " << i;
}

}  // namespace lathe::testing
