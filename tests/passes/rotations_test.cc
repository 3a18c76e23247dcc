// Transforms that are folded into the weights: the graph changes, what it computes does not.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "graph/constant_floats.h"
#include "passes/pipelines.h"
#include "support/orthogonal.h"
#include "tiny_model.h"

namespace lathe {
namespace {

using testing::expect_close;
using testing::Outcome;
using testing::run_tiny;
using testing::tiny_model;

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
  const Outcome before = run_tiny(tiny_model("llama"));
  Graph graph = tiny_model("llama");
  run_passes(graph, rotations());
  const Outcome after = run_tiny(graph);
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
  Graph graph = tiny_model("llama");
  run_passes(graph, rotations());
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::rms_norm) continue;
    const std::vector<float> weight = constant_floats(graph.value(node.inputs[1]));
    EXPECT_EQ(weight, std::vector<float>(weight.size(), 1.0f)) << node.module;
  }
}

TEST(Rotations, IdsAreTheSameInEveryRole) {
  Graph one = tiny_model("llama");
  Graph other = build_hf_graph(Checkpoint::open(std::string(LATHE_TEST_DATA) + "/tiny/llama"),
                               {GraphRole::decode, 1, 64});
  run_passes(other, pipeline_of(Variant::hf, Target::cpu).build);
  run_passes(one, rotations());
  run_passes(other, rotations());
  ASSERT_EQ(one.order(), other.order());
  for (const NodeId id : one.order()) EXPECT_EQ(one.node(id).inputs, other.node(id).inputs);
}

}  // namespace
}  // namespace lathe
