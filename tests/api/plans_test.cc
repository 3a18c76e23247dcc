// What the CPU executor makes of every family: no layer has its attention in pieces, an operator
// without a step of its own, or more steps than its structure asks for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "api/model_cases.h"
#include "artifact/read.h"
#include "executors/cpu/plan.h"
#include "executors/cpu/plan_listing.h"
#include "lathe/compile.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::ModelCase;
using ::testing::Not;

constexpr int kThreads = 2;

// Query, key and value projections with the norm before them; RoPE of queries and of keys, with the
// norms of heads; attention; output projection; gate and up with the norm before them; down
// projection. A residual is added by the step before it.
constexpr std::ptrdiff_t kSteps = 7;
// Norms behind the attention and behind the MLP need whole rows: a step each, with the residual.
constexpr std::ptrdiff_t kNormsBehind = 2;
// Keys and values of several tokens are laid out as the caches are.
constexpr std::ptrdiff_t kCopies = 2;

using Names = std::vector<std::string>;

bool is_of_layer(const ListedStep& step, int64_t layer) {
  const std::string path = "model.layers." + std::to_string(layer);
  return std::any_of(step.modules.begin(), step.modules.end(), [&](const std::string& module) {
    return module == path || module.starts_with(path + ".");
  });
}

class Plans : public ::testing::TestWithParam<ModelCase> {
 protected:
  Plans() {
    const std::filesystem::path artifact = folder_ / "model.lathe";
    compile(GetParam().source, artifact, {.context = 64, .quant = "16a8w", .threads = kThreads});
    model_ = read_model(artifact);
  }

  /// The names of the steps of every layer, but for the one that reads the mask for all of them.
  std::vector<Names> layers(GraphRole role) const {
    const Graph& graph = model_.graph(role);
    std::vector<Names> names(static_cast<size_t>(model_.facts.layers));
    for (const ListedStep& step : list_steps(graph, lower(graph, kThreads))) {
      if (step.name == "mask_columns") continue;
      for (int64_t layer = 0; layer < model_.facts.layers; ++layer) {
        if (is_of_layer(step, layer)) names[static_cast<size_t>(layer)].push_back(step.name);
      }
    }
    return names;
  }

 private:
  const testing::TestFolder folder_;
  Model model_;
};

void expect_fused(const Names& layer, std::ptrdiff_t copies) {
  EXPECT_EQ(std::count(layer.begin(), layer.end(), "attention"), 1);
  EXPECT_LE(std::count(layer.begin(), layer.end(), "copy"), copies);
  EXPECT_THAT(layer, Each(Not(AnyOf(HasSubstr("softmax"), HasSubstr("tanh"), HasSubstr("matmul"),
                                    HasSubstr("silu+mul"), HasSubstr("gelu+mul"), "reference"))));
  const std::ptrdiff_t norms_behind = std::count(layer.begin(), layer.end(), "rms_norm+add");
  EXPECT_LE(norms_behind, kNormsBehind);
  EXPECT_LE(std::ssize(layer), kSteps + norms_behind + copies);
}

TEST_P(Plans, ATokenTakesFewSteps) {
  for (const Names& layer : layers(GraphRole::decode)) {
    SCOPED_TRACE(::testing::PrintToString(layer));
    expect_fused(layer, 0);
  }
}

TEST_P(Plans, AChunkOfAPromptTakesFewSteps) {
  for (const Names& layer : layers(GraphRole::prefill)) {
    SCOPED_TRACE(::testing::PrintToString(layer));
    expect_fused(layer, kCopies);
  }
}

INSTANTIATE_TEST_SUITE_P(, Plans, ::testing::ValuesIn(testing::all_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
