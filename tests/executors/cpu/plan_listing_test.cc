#include "executors/cpu/plan_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executors/cpu/code_graph.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;

TEST(PlanListing, AStepNamesTheModulesThatItComputes) {
  const CodeGraph graph(R"(graph prefill ar=5 cl=8
input %x : u16[5, 64]<0.0004, 30000>
const %w : i8[32, 64]<per channel 0>
const %v : i8[32, 64]<per channel 0>
%x1 = aten.neg(%x) : u16[5, 64]<0.0004, 30000> @ layers.0
%q = aten.linear(%x1, %w) : u16[5, 32]<0.001, 32768> @ layers.0.q_proj
%k = aten.linear(%x1, %v) : u16[5, 32]<0.001, 32768> @ layers.0.k_proj
output q = %q
output k = %k
)");
  const std::vector<ListedStep> list = list_steps(graph.graph(), lower(graph.graph(), 1));
  ASSERT_GE(list.size(), 2);
  EXPECT_EQ(list[0].name, "copy");  // inputs are bound with strides of their own
  EXPECT_THAT(list[0].modules, ElementsAre("layers.0"));
  EXPECT_EQ(list[2].name, "linear");
  EXPECT_EQ(list[2].modules.front(), "layers.0.q_proj");
}

TEST(PlanListing, ModulesShareTheirPath) {
  EXPECT_EQ(join_modules({}), "");
  EXPECT_EQ(join_modules({"lm_head"}), "lm_head");
  EXPECT_EQ(join_modules({"model.layers.0.attn.q", "model.layers.0.attn.k"}),
            "model.layers.0.attn.{q, k}");
  EXPECT_EQ(join_modules({"model.norm", "lm_head"}), "{model.norm, lm_head}");
  EXPECT_EQ(join_modules({"a.norm_in", "a.norm_out"}), "a.{norm_in, norm_out}");
}

TEST(PlanListing, AModuleThatHoldsAnotherGoesWithoutSaying) {
  EXPECT_EQ(join_modules({"layers.0.mlp", "layers.0"}), "layers.0.mlp");
  EXPECT_EQ(join_modules({"layers.1", "layers.10.mlp"}), "layers.{1, 10.mlp}");
}

TEST(PlanListing, OnlyWholeNumbersAreLayers) {
  EXPECT_EQ(without_numbers("model.layers.13.mlp.fc1"), "model.layers.*.mlp.fc1");
  EXPECT_EQ(without_numbers(""), "");
}

/// Steps named by the characters of a text.
std::vector<ListedStep> steps(const std::string& names) {
  std::vector<ListedStep> list;
  for (const char name : names) list.push_back({.name = std::string(1, name)});
  return list;
}

using Folded = std::tuple<size_t, size_t, size_t>;
std::vector<Folded> folded(const std::vector<ListedStep>& list) {
  std::vector<Folded> stretches;
  for (const RepeatedSteps& s : fold_repeated(list)) {
    stretches.emplace_back(s.first, s.count, s.times);
  }
  return stretches;
}

TEST(PlanListing, RepeatedStepsAreFolded) {
  EXPECT_THAT(folded(steps("")), ElementsAre());
  EXPECT_THAT(folded(steps("ab")), ElementsAre(Folded{0, 1, 1}, Folded{1, 1, 1}));
  EXPECT_THAT(folded(steps("eabcabcabch")),
              ElementsAre(Folded{0, 1, 1}, Folded{1, 3, 3}, Folded{10, 1, 1}));
  // The shortest stretch that covers most.
  EXPECT_THAT(folded(steps("aaaa")), ElementsAre(Folded{0, 1, 4}));
  EXPECT_THAT(folded(steps("aabaab")), ElementsAre(Folded{0, 3, 2}));
}

TEST(PlanListing, OnlyTheNumbersOfLayersMayDiffer) {
  std::vector<ListedStep> list = steps("aa");
  list[0].modules = {"layers.0.mlp"};
  list[1].modules = {"layers.1.mlp"};
  EXPECT_THAT(folded(list), ElementsAre(Folded{0, 1, 2}));
  list[1].cost.weight_bytes = 1;
  EXPECT_EQ(folded(list).size(), 2);
  list[1].cost.weight_bytes = 0;
  list[1].modules = {"layers.1.attn"};
  EXPECT_EQ(folded(list).size(), 2);
}

}  // namespace
}  // namespace lathe
