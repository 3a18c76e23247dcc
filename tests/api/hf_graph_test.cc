// The graph as Hugging Face's code has it, before any pass, evaluated as it stands: whole caches,
// cache_position, mask and RoPE inside. It gives the golden logits, and the passes change nothing.

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/golden.h"
#include "api/model_cases.h"
#include "executors/reference/evaluator_session.h"
#include "frontend/frontend.h"

namespace lathe {
namespace {

using testing::Golden;
using testing::max_difference;

constexpr double kTolerance = 5e-4;

/// The graph with the static cache that its caller owns in Hugging Face's code.
class HfModel {
 public:
  HfModel(GraphRole role, int64_t tokens, int64_t context)
      : evaluator_(std::make_shared<const Graph>(
            build_hf_graph(open_source(testing::tiny_llama().source), {role, tokens, context}))) {
    const IoContract io = evaluator_.graph().io();
    for (const IoTensor& input : io.inputs) {
      if (input.name == "input_ids" || input.name == "cache_position") continue;
      if (input.name.ends_with(".cumulative_length")) {
        evaluator_.bind_input(input.name, dense_view(input.dtype, input.shape, &length_));
        continue;
      }
      // What comes out as "layers.0.keys" goes in as "static_cache.layers.0.keys": in place.
      caches_.push_back(std::make_unique<std::vector<float>>(elements(input.shape)));
      const TensorView view = dense_view(input.dtype, input.shape, caches_.back()->data());
      evaluator_.bind_input(input.name, view);
      evaluator_.bind_output(input.name.substr(std::string("static_cache.").size()), view);
    }
    logits_.resize(static_cast<size_t>(elements(io.find_output("logits")->shape)));
    evaluator_.bind_output("logits",
                           dense_view(DType::f32, io.find_output("logits")->shape, logits_.data()));
  }

  /// Logits after `ids` (as many as the graph takes) at positions from `first` on.
  const std::vector<float>& run(std::vector<int64_t> ids, int64_t first) {
    const auto count = static_cast<int64_t>(ids.size());
    std::vector<int64_t> positions(ids.size());
    std::iota(positions.begin(), positions.end(), first);
    length_ = first;
    evaluator_.bind_input("input_ids", dense_view(DType::i64, {1, count}, ids.data()));
    evaluator_.bind_input("cache_position", dense_view(DType::i64, {count}, positions.data()));
    evaluator_.run();
    return logits_;
  }

 private:
  Evaluator evaluator_;
  std::vector<std::unique_ptr<std::vector<float>>> caches_;  // [1, kv heads, context, head_dim]
  int64_t length_ = 0;
  std::vector<float> logits_;
};

class HfGraph : public ::testing::Test {
 protected:
  const Golden golden_{testing::test_data() / "tiny/llama/kv_golden.safetensors"};
  const std::vector<int64_t> ids_ = golden_.ids("input_ids");  // [64]
};

TEST_F(HfGraph, InOneCall) {
  HfModel hf(GraphRole::calibrate, 64, 64);
  const std::vector<float> logits = hf.run(ids_, 0);
  EXPECT_LE(max_difference(logits, golden_.floats("full_logits")), kTolerance);

  FloatModel after_passes(open_source(testing::tiny_llama().source), 1, FloatExecutor::reference);
  std::vector<float> static_logits;
  after_passes.run(ids_, [&](int64_t, std::span<const float> row) {
    static_logits.insert(static_logits.end(), row.begin(), row.end());
  });
  EXPECT_EQ(max_difference(logits, static_logits), 0.0) << "passes change no bit of a result";
}

TEST_F(HfGraph, StepByStepWithTheCachesFedBack) {
  HfModel hf(GraphRole::decode, 1, 64);
  std::vector<float> logits;
  for (size_t i = 0; i < ids_.size(); ++i) {
    const std::vector<float>& row = hf.run({ids_[i]}, static_cast<int64_t>(i));
    logits.insert(logits.end(), row.begin(), row.end());
  }
  EXPECT_LE(max_difference(logits, golden_.floats("step.logits")), kTolerance);

  const auto decode = std::make_shared<const Graph>(
      float_graph(open_source(testing::tiny_llama().source), {GraphRole::decode, 1, 64}));
  Runner after_passes(std::make_unique<ReferenceSession>(decode), nullptr, RunMode::kv);
  EXPECT_LE(max_difference(logits, testing::prefill_logits(after_passes, ids_)), 1e-5);
}

}  // namespace
}  // namespace lathe
