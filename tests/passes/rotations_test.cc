// Transforms that are folded into the weights: the graph changes, what it computes does not.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "executors/reference/evaluator.h"
#include "frontend/frontend.h"
#include "passes/equalize_keys.h"
#include "passes/pipelines.h"
#include "support/orthogonal.h"

namespace lathe {
namespace {

constexpr int64_t kTokens = 12;

Graph model(const std::string& name) {
  Graph graph = build_hf_graph(Checkpoint::open(std::string(LATHE_TEST_DATA) + "/tiny/" + name),
                               {GraphRole::calibrate, kTokens, kTokens});
  run_passes(graph, pipeline_of(Variant::hf, Target::cpu).build);
  return graph;
}

Graph llama() { return model("llama"); }

/// Logits, and the residual stream in front of the final norm.
struct Outcome {
  std::vector<float> logits;
  std::vector<float> stream;
};

Outcome run(const Graph& graph) {
  Evaluator evaluator(std::make_shared<const Graph>(graph));
  std::vector<int32_t> tokens;
  std::vector<int32_t> positions;
  std::vector<float> mask(kTokens * kTokens, -255.0f);
  for (int32_t i = 0; i < kTokens; ++i) {
    tokens.push_back(7 * i % 380);
    positions.push_back(i);
    for (int32_t j = 0; j <= i; ++j) mask[static_cast<size_t>(i * kTokens + j)] = 0.0f;
  }
  for (const IoTensor& input : graph.io().inputs) {
    void* data = input.name == "tokens"           ? static_cast<void*>(tokens.data())
                 : input.name == "position"       ? static_cast<void*>(positions.data())
                 : input.name == "attention_mask" ? static_cast<void*>(mask.data())
                                                  : nullptr;
    evaluator.bind_input(input.name, dense_view(input.dtype, input.shape, data));
  }
  Outcome result;
  result.logits.resize(static_cast<size_t>(elements(graph.io().find_output("logits")->shape)));
  evaluator.bind_output("logits", dense_view(DType::f32, graph.io().find_output("logits")->shape,
                                             result.logits.data()));
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

TEST(Orthogonal, KeepsLengthsAndAngles) {
  for (const int64_t size : {1, 2, 3, 64, 96, 576}) {
    const Orthogonal q(size);
    std::vector<float> identity(static_cast<size_t>(size * size), 0.0f);
    for (int64_t i = 0; i < size; ++i) identity[static_cast<size_t>(i * size + i)] = 1.0f;
    q.apply(identity.data(), size, size);
    for (int64_t a = 0; a < std::min<int64_t>(size, 5); ++a) {
      for (int64_t b = 0; b < size; ++b) {
        double dot = 0.0;
        for (int64_t i = 0; i < size; ++i) {
          dot += static_cast<double>(identity[static_cast<size_t>(i * size + a)]) *
                 identity[static_cast<size_t>(i * size + b)];
        }
        EXPECT_NEAR(dot, a == b ? 1.0 : 0.0, 1e-5) << size << ": " << a << " " << b;
      }
    }
  }
}

TEST(Orthogonal, SpreadsOneLargeNumber) {
  const Orthogonal q(576);
  std::vector<float> x(576, 0.0f);
  x[123] = 24000.0f;
  q.apply(x.data(), 1, 1);
  for (const float number : x) EXPECT_LT(std::fabs(number), 24000.0f / 16.0f);
}

TEST(Rotations, TheGraphComputesTheSameLogits) {
  const Outcome before = run(llama());
  Graph graph = llama();
  run_passes(graph, rotations());
  const Outcome after = run(graph);
  expect_close(after.logits, before.logits);
  // The stream itself is another one of the same length.
  double length = 0.0;
  double rotated_length = 0.0;
  double difference = 0.0;
  for (size_t i = 0; i < before.stream.size(); ++i) {
    length += before.stream[i] * before.stream[i];
    rotated_length += after.stream[i] * after.stream[i];
    difference += std::fabs(before.stream[i] - after.stream[i]);
  }
  EXPECT_NEAR(rotated_length / length, 1.0, 1e-4);
  EXPECT_GT(difference, 1.0);
}

TEST(Rotations, NormWeightsMoveIntoTheProjections) {
  Graph graph = llama();
  run_passes(graph, rotations());
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::rms_norm) continue;
    std::vector<float> weight(static_cast<size_t>(graph.value(node.inputs[1]).shape[0]));
    graph.value(node.inputs[1])
        .constant->floats->read(0, static_cast<int64_t>(weight.size()), weight.data());
    EXPECT_EQ(weight, std::vector<float>(weight.size(), 1.0f)) << node.module;
  }
}

TEST(Rotations, IdsAreTheSameInEveryRole) {
  Graph one = llama();
  Graph other = build_hf_graph(Checkpoint::open(std::string(LATHE_TEST_DATA) + "/tiny/llama"),
                               {GraphRole::decode, 1, 64});
  run_passes(other, pipeline_of(Variant::hf, Target::cpu).build);
  run_passes(one, rotations());
  run_passes(other, rotations());
  ASSERT_EQ(one.order(), other.order());
  for (const NodeId id : one.order()) EXPECT_EQ(one.node(id).inputs, other.node(id).inputs);
}

// Whole heads rotate in one, 12 of 16 dimensions in the other: those that rotate together share a
// factor, the rest have their own.
TEST(EqualizeKeys, KeysBecomeEquallyLargeAndLogitsStay) {
  for (const char* name : {"llama", "phi3_longrope"}) {
    SCOPED_TRACE(name);
    Graph graph = model(name);
    const Outcome before = run(graph);
    KeyMagnitudes magnitudes(3);  // made up, of two heads of dimension 16 a layer
    for (std::vector<float>& layer : magnitudes) {
      for (int i = 0; i < 32; ++i) layer.push_back(0.5f + static_cast<float>(i * i % 13));
    }
    const int64_t values = graph.value_count();
    equalize_keys(graph, magnitudes);
    expect_close(run(graph).logits, before.logits);
    EXPECT_GT(graph.value_count(), values) << "no weight was changed";
  }
}

}  // namespace
}  // namespace lathe
