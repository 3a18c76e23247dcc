// The number of threads changes no value of a transformer layer.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "executors/float/float_kernels.h"
#include "executors/float/small_llama.h"
#include "executors/reference/evaluator.h"

namespace lathe {
namespace {

/// All values of a run, by id; chunks of one value are joined.
using Values = std::vector<std::vector<float>>;

Values all_values(const std::shared_ptr<const Graph>& graph, std::shared_ptr<NodeKernels> kernels,
                  EvaluatorLimits limits = {}) {
  Evaluator evaluator(graph, std::move(kernels), limits);
  SmallLlamaInputs inputs;
  evaluator.bind_input("tokens", inputs.tokens_view());
  evaluator.bind_input("mask", inputs.mask_view());
  Values values(static_cast<size_t>(graph->value_count()));
  evaluator.observe([&](ValueId id, const TensorView& view) {
    if (view.dtype != DType::f32) return;
    auto& seen = values[static_cast<size_t>(id)];
    seen.insert(seen.end(), view.as<float>(), view.as<float>() + elements(view.shape));
  });
  evaluator.run();
  return values;
}

TEST(ThreadCount, ChangesNoValue) {
  const auto graph = small_llama();
  const Values one = all_values(graph, std::make_shared<FloatKernels>(1));
  EXPECT_FALSE(one[static_cast<size_t>(graph->find("logits"))].empty());
  for (const int threads : {2, 3, 8}) {
    const Values many = all_values(graph, std::make_shared<FloatKernels>(threads));
    for (size_t id = 0; id < one.size(); ++id) {
      ASSERT_TRUE(one[id] == many[id])
          << graph->value(static_cast<ValueId>(id)).name << " with " << threads << " threads";
    }
  }
}

TEST(ThreadCount, WeightsKeptOrReadAnewAreTheSame) {
  const auto graph = small_llama();
  const auto kernels = std::make_shared<FloatKernels>(2);
  EXPECT_EQ(all_values(graph, kernels, {.kept_constants = 0}),
            all_values(graph, kernels, {.kept_constants = int64_t{1} << 30}));
}

TEST(SmallLlama, EveryValueIsNearTheReference) {
  const auto graph = small_llama();
  const Values reference = all_values(graph, nullptr);
  const Values fast = all_values(graph, std::make_shared<FloatKernels>(2));
  for (size_t id = 0; id < reference.size(); ++id) {
    double largest = 0.0;
    double worst = 0.0;
    ASSERT_EQ(reference[id].size(), fast[id].size());
    for (size_t i = 0; i < reference[id].size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(reference[id][i])));
      worst = std::max(worst, std::abs(static_cast<double>(reference[id][i]) - fast[id][i]));
    }
    EXPECT_LE(worst, 1e-5 * largest) << graph->value(static_cast<ValueId>(id)).name;
  }
}

}  // namespace
}  // namespace lathe
