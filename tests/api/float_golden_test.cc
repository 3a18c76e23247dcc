// Whole-sequence float forwards against Hugging Face's own: logits and every layer.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/golden.h"
#include "api/model_cases.h"

namespace lathe {
namespace {

using testing::Golden;
using testing::max_difference;
using testing::ModelCase;
using testing::of_prompt;

constexpr double kTolerance = 1e-4;
constexpr int kThreads = 2;

std::vector<float> logits_of(FloatModel& model, const std::vector<int64_t>& ids) {
  std::vector<float> logits;
  model.run(ids, [&](int64_t, std::span<const float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
  });
  return logits;
}

std::string executor_name(FloatExecutor executor) {
  return executor == FloatExecutor::fast ? "fast" : "reference";
}

class FloatGolden : public ::testing::TestWithParam<std::tuple<ModelCase, FloatExecutor>> {};

TEST_P(FloatGolden, LogitsOfEveryPrompt) {
  const auto& [which, executor] = GetParam();
  const Golden golden(which.golden);
  FloatModel model(open_source(which.source), kThreads, executor);
  for (int prompt = 0; prompt < which.prompts; ++prompt) {
    const std::vector<float> logits = logits_of(model, golden.ids(of_prompt(prompt, "input_ids")));
    const double difference = max_difference(logits, golden.floats(of_prompt(prompt, "logits")));
    EXPECT_LE(difference, kTolerance) << of_prompt(prompt, "logits");
    testing::report_figure("largest_logit_difference_" + of_prompt(prompt, which.name), difference);
  }
}

INSTANTIATE_TEST_SUITE_P(, FloatGolden,
                         ::testing::Combine(::testing::ValuesIn(testing::all_models()),
                                            ::testing::Values(FloatExecutor::fast,
                                                              FloatExecutor::reference)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  executor_name(std::get<1>(info.param));
                         });

/// The residual stream by the name that the golden file gives it: "embed", "layer.0",
/// "final_norm". The embedding may be multiplied. A decoder layer adds to the stream twice; the
/// second sum is what leaves the layer.
std::map<std::string, ValueId> residual_stream(const Graph& graph) {
  const std::string layers = "model.layers.";
  std::map<std::string, ValueId> stream;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.module == "model.embed_tokens" || (node.op == Op::mul && node.module == "model")) {
      stream["embed"] = node.output();
    } else if (node.op == Op::rms_norm && node.module == "model.norm") {
      stream["final_norm"] = node.output();
    } else if (node.op == Op::add && node.module.starts_with(layers) &&
               node.module.find('.', layers.size()) == std::string::npos) {
      stream["layer." + node.module.substr(layers.size())] = node.output();
    }
  }
  return stream;
}

class FloatLayers : public ::testing::TestWithParam<ModelCase> {};

TEST_P(FloatLayers, TheResidualStreamAfterEveryLayer) {
  const ModelCase& which = GetParam();
  const Golden golden(which.golden);
  FloatModel model(open_source(which.source), kThreads);
  for (int prompt = 0; prompt < which.prompts; ++prompt) {
    std::map<ValueId, std::vector<float>> seen;
    model.run(golden.ids(of_prompt(prompt, "input_ids")), {},
              [&](ValueId id, const TensorView& view) {
                if (view.dtype != DType::f32) return;
                seen[id].assign(view.as<float>(), view.as<float>() + elements(view.shape));
              });
    const std::map<std::string, ValueId> stream = residual_stream(model.graph());
    ASSERT_EQ(stream.size(), static_cast<size_t>(model.checkpoint().config().layers) + 2)
        << "the embedding, the layers and the final norm";
    for (const auto& [name, id] : stream) {
      const std::vector<float> expected = golden.floats(of_prompt(prompt, name));
      const float largest = *std::max_element(expected.begin(), expected.end());
      EXPECT_LE(max_difference(seen[id], expected), kTolerance * std::max(1.0f, largest))
          << of_prompt(prompt, name);
    }
  }
}

TEST_P(FloatLayers, GreedyTokensOfWholeSequences) {
  const ModelCase& which = GetParam();
  const Golden golden(which.golden);
  FloatModel model(open_source(which.source), kThreads);
  const auto vocab = static_cast<size_t>(model.vocab());
  for (int prompt = 0; prompt < which.prompts; ++prompt) {
    // A prompt that is there for its length has logits only.
    if (!golden.has(of_prompt(prompt, "greedy_ids"))) continue;
    std::vector<int64_t> ids = golden.ids(of_prompt(prompt, "input_ids"));
    const size_t length = ids.size();
    const std::vector<int64_t> expected = golden.ids(of_prompt(prompt, "greedy_ids"));
    while (ids.size() < length + expected.size()) {
      const std::vector<float> logits = logits_of(model, ids);
      ids.push_back(testing::argmax(std::span(logits).last(vocab)));
    }
    EXPECT_EQ(std::vector<int64_t>(ids.begin() + static_cast<int64_t>(length), ids.end()), expected)
        << of_prompt(prompt, which.name);
  }
}

INSTANTIATE_TEST_SUITE_P(, FloatLayers, ::testing::ValuesIn(testing::tiny_models()),
                         [](const auto& info) { return info.param.name; });

TEST(FloatCacheGolden, LogitsOfSixtyFourTokens) {
  const Golden golden(testing::test_data() / "tiny/llama/kv_golden.safetensors");
  for (const FloatExecutor executor : {FloatExecutor::fast, FloatExecutor::reference}) {
    FloatModel model(open_source(testing::tiny_llama().source), kThreads, executor);
    EXPECT_LE(
        max_difference(logits_of(model, golden.ids("input_ids")), golden.floats("full_logits")),
        kTolerance);
  }
}

}  // namespace
}  // namespace lathe
