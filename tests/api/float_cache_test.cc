// The static float graphs, run by the runner, against Hugging Face's StaticCache: logits at every
// step, the cache itself, the RoPE tables, greedy text.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/golden.h"
#include "api/model_cases.h"
#include "decode/runner.h"
#include "executors/float/float_session.h"
#include "frontend/rope.h"
#include "graph/constant_floats.h"

namespace lathe {
namespace {

using testing::Golden;
using testing::max_difference;
using testing::ModelCase;
using testing::of_prompt;

constexpr double kTolerance = 5e-4;

std::unique_ptr<Session> make_session(Graph graph, FloatExecutor executor) {
  auto shared = std::make_shared<const Graph>(std::move(graph));
  if (executor == FloatExecutor::reference) return std::make_unique<ReferenceSession>(shared);
  return std::make_unique<FloatSession>(shared, /*threads=*/2);
}

/// Remembers the cache windows that the runner binds, which the runner shows nobody.
class CacheWatcher final : public Session {
 public:
  using Windows = std::map<std::string, TensorView, std::less<>>;

  CacheWatcher(std::unique_ptr<Session> session, Windows& windows)
      : session_(std::move(session)), windows_(windows) {}
  const IoContract& io() const override { return session_->io(); }
  void bind(std::string_view name, const TensorView& view) override {
    if (name.find("_cache_") != std::string_view::npos) windows_[std::string(name)] = view;
    session_->bind(name, view);
  }
  void run() noexcept override { session_->run(); }

 private:
  std::unique_ptr<Session> session_;
  Windows& windows_;
};

/// One way to run the tokens: hybrid with `chunk` tokens in a call of the prefill graph, kv with 1.
struct Way {
  FloatExecutor executor = FloatExecutor::fast;
  int64_t chunk = 1;
};

std::string name_of_way(const ::testing::TestParamInfo<Way>& info) {
  const std::string executor = info.param.executor == FloatExecutor::fast ? "fast" : "reference";
  const std::string mode =
      info.param.chunk == 1 ? "kv" : "hybrid" + std::to_string(info.param.chunk);
  return executor + "_" + mode;
}

Runner make_runner(const ModelCase& model, const Way& way, int64_t context,
                   CacheWatcher::Windows* windows = nullptr) {
  const auto checkpoint = open_source(model.source);
  std::unique_ptr<Session> decode =
      make_session(float_graph(checkpoint, {GraphRole::decode, 1, context}), way.executor);
  if (windows != nullptr) decode = std::make_unique<CacheWatcher>(std::move(decode), *windows);
  if (way.chunk == 1) return {std::move(decode), nullptr, RunMode::kv};
  return {
      std::move(decode),
      make_session(float_graph(checkpoint, {GraphRole::prefill, way.chunk, context}), way.executor),
      RunMode::hybrid};
}

/// The first `slots` tokens of the caches of all layers: [layers, heads, slots, head_dim], as the
/// golden file has them. Lathe stores keys transposed: [1, heads, head_dim, slots].
std::vector<float> cache_contents(const CacheWatcher::Windows& windows, const std::string& kind,
                                  int64_t slots) {
  std::vector<float> contents;
  const int slot_axis = kind == "k" ? 3 : 2;
  const int dim_axis = kind == "k" ? 2 : 3;
  for (int layer = 0;; ++layer) {
    const auto found = windows.find(kind + "_cache_" + std::to_string(layer));
    if (found == windows.end()) return contents;
    const TensorView& view = found->second;
    for (int64_t head = 0; head < view.shape[1]; ++head) {
      for (int64_t slot = 0; slot < slots; ++slot) {
        for (int64_t dim = 0; dim < view.shape[static_cast<size_t>(dim_axis)]; ++dim) {
          contents.push_back(view.as<float>()[head * view.strides[1] +
                                              slot * view.strides[static_cast<size_t>(slot_axis)] +
                                              dim * view.strides[static_cast<size_t>(dim_axis)]]);
        }
      }
    }
  }
}

class FloatCache : public ::testing::TestWithParam<Way> {
 protected:
  const ModelCase model_ = testing::tiny_llama();
  const Golden golden_{testing::test_data() / "tiny/llama/kv_golden.safetensors"};
  const std::vector<int64_t> ids_ = golden_.ids("input_ids");  // [64]
};

// The last token takes the last slot: the context is as long as the text.
TEST_P(FloatCache, LogitsStepByStep) {
  Runner runner = make_runner(model_, GetParam(), 64);
  std::vector<float> logits;
  for (const int64_t id : ids_) {
    const std::vector<float> row = testing::prefill_logits(runner, {&id, 1});
    logits.insert(logits.end(), row.begin(), row.end());
  }
  EXPECT_LE(max_difference(logits, golden_.floats("step.logits")), kTolerance);
}

TEST_P(FloatCache, LogitsOfAPromptAndThenSteps) {
  Runner runner = make_runner(model_, GetParam(), 64);
  const std::span<const int64_t> ids = ids_;
  std::vector<float> logits = testing::prefill_logits(runner, ids.first(33));
  for (const int64_t& id : ids.subspan(33)) {
    const std::vector<float> row = testing::prefill_logits(runner, {&id, 1});
    logits.insert(logits.end(), row.begin(), row.end());
  }
  const double difference = max_difference(logits, golden_.floats("prefill33.logits"));
  EXPECT_LE(difference, kTolerance);
  testing::report_figure("largest_logit_difference", difference);
}

// A context beyond 64, so that the window of the decode graph shows all slots of the golden cache.
TEST_P(FloatCache, ContentsAfterTwelveAndAfterSixtyFourTokens) {
  CacheWatcher::Windows windows;
  Runner runner = make_runner(model_, GetParam(), 96, &windows);
  const std::span<const int64_t> ids = ids_;
  const auto expect_golden = [&](const std::string& after) {
    for (const std::string kind : {"k", "v"}) {
      const std::string name = "step.cache_" + kind + ".after" + after;
      const double difference =
          max_difference(cache_contents(windows, kind, 64), golden_.floats(name));
      EXPECT_LE(difference, kTolerance) << name;
      testing::report_figure("largest_difference_" + kind + after, difference);
    }
  };
  runner.prefill(ids.first(12));
  expect_golden("12");  // unused slots are 0 there
  runner.prefill(ids.subspan(12));
  expect_golden("64");
}

INSTANTIATE_TEST_SUITE_P(
    , FloatCache,
    ::testing::Values(Way{FloatExecutor::fast, 1},
                      Way{FloatExecutor::fast, 8},   // whole chunks, then one
                      Way{FloatExecutor::fast, 20},  // the last chunk is filled up
                      Way{FloatExecutor::fast, 32},  //
                      Way{FloatExecutor::reference, 1}, Way{FloatExecutor::reference, 20}),
    name_of_way);

// Frequencies are at most 1, and two float32 implementations of pow may round one differently: by
// 2^-24. At position 63 that is an angle, and so a cosine or sine, 63 times as far off.
TEST(FloatRope, TablesAreThoseOfTheModelingCode) {
  constexpr double kRounding = 0x1p-24;
  const Golden golden(testing::test_data() / "tiny/llama/kv_golden.safetensors");
  const auto checkpoint = open_source(testing::tiny_llama().source);
  const Graph graph = float_graph(checkpoint, {GraphRole::decode, 1, 64});
  for (const std::string function : {"cos", "sin"}) {
    const ValueId id = graph.find("model.rotary_emb." + function + "_table");
    ASSERT_NE(id, kNone);
    const Shape both_halves = golden.shape("rope." + function);  // [64, 16], halves alike
    ASSERT_EQ(graph.value(id).shape, (Shape{both_halves[0], both_halves[1] / 2}));
    const std::vector<float> table = constant_floats(graph.value(id));
    const std::vector<float> golden_table = golden.floats("rope." + function);
    std::vector<float> halves;
    for (int64_t row = 0; row < both_halves[0]; ++row) {
      const auto begin = golden_table.begin() + row * both_halves[1];
      halves.insert(halves.end(), begin, begin + both_halves[1] / 2);
    }
    const double difference = max_difference(table, halves);
    EXPECT_LE(difference, 63 * kRounding) << function;
    testing::report_figure("largest_difference_" + function, difference);
  }
  const ModelConfig& config = checkpoint->config();
  EXPECT_LE(max_difference(rope_inverse_frequencies(config.rope, config.head_dim,
                                                    config.max_position_embeddings),
                           golden.floats("rope.inv_freq")),
            kRounding);
}

struct ModelAndWay {
  ModelCase model;
  Way way;
};

std::string name_of_model_and_way(const ::testing::TestParamInfo<ModelAndWay>& info) {
  return info.param.model.name + "_" + name_of_way({info.param.way, info.index});
}

class FloatRings : public ::testing::TestWithParam<ModelAndWay> {};

// The slots of a ring have been written over many times, and all tokens at once see no ring.
TEST_P(FloatRings, GiveTheLogitsOfATextOfManyWindows) {
  constexpr int64_t kTokens = 96;
  const auto& [which, way] = GetParam();
  const auto checkpoint = open_source(which.source);
  ASSERT_GT(checkpoint->config().sliding_window, 0);
  ASSERT_LE(checkpoint->config().sliding_window, kTokens / 6);
  FloatModel whole(checkpoint, /*threads=*/2);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < kTokens; ++i) ids.push_back((37 * i + 11) % whole.vocab());
  std::vector<float> expected;
  whole.run(ids, [&](int64_t, std::span<const float> row) {
    expected.insert(expected.end(), row.begin(), row.end());
  });
  Runner runner = make_runner(which, way, kTokens);
  const double difference = max_difference(testing::prefill_logits(runner, ids), expected);
  EXPECT_LE(difference, kTolerance);
  testing::report_figure("largest_logit_difference", difference);
}

std::vector<ModelAndWay> sliding_models() {
  std::vector<ModelAndWay> cases;
  for (const char* family : {"mistral", "gemma2", "gemma3"}) {
    for (const int64_t chunk : {1, 5, 32}) {  // less than a window, and more
      cases.push_back({testing::tiny_model(family), {FloatExecutor::fast, chunk}});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, FloatRings, ::testing::ValuesIn(sliding_models()),
                         name_of_model_and_way);

class FloatGreedy : public ::testing::TestWithParam<ModelAndWay> {};

TEST_P(FloatGreedy, TheTextOfEveryPrompt) {
  const auto& [model, way] = GetParam();
  // Logits are in fact within 1e-4 (FloatGolden prints the difference), so that is the error that
  // decides how many steps count.
  constexpr double kLogitError = 1e-4;
  const Golden golden(model.golden);
  Runner runner = make_runner(model, way, 128);
  for (int prompt = 0; prompt < model.prompts; ++prompt) {
    const std::vector<int64_t> expected = golden.ids(of_prompt(prompt, "greedy_ids"));
    const size_t steps =
        testing::comparable_steps(golden.floats(of_prompt(prompt, "greedy_margin")), kLogitError);
    EXPECT_EQ(steps, expected.size()) << "every margin of these models is large enough";
    EXPECT_EQ(testing::greedy(runner, golden.ids(of_prompt(prompt, "input_ids")), steps),
              std::vector<int64_t>(expected.begin(),
                                   expected.begin() + static_cast<std::ptrdiff_t>(steps)))
        << of_prompt(prompt, model.name);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , FloatGreedy,
    ::testing::Values(ModelAndWay{testing::embedded_model(), {FloatExecutor::fast, 1}},
                      ModelAndWay{testing::embedded_model(), {FloatExecutor::fast, 32}},
                      ModelAndWay{testing::tiny_llama(), {FloatExecutor::fast, 1}},
                      ModelAndWay{testing::tiny_llama(), {FloatExecutor::fast, 32}},
                      ModelAndWay{testing::tiny_llama(), {FloatExecutor::reference, 32}}),
    name_of_model_and_way);

}  // namespace
}  // namespace lathe
