// Float graphs through the runner, prompt chunks and single steps on one cache, against Hugging
// Face's logits: the static form in every choice it has, and the graph as traced with whole caches.

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/golden.h"
#include "api/model_cases.h"
#include "executors/reference/evaluator_session.h"
#include "frontend/frontend.h"
#include "graph/diff.h"
#include "support/test_files.h"
#include "tools/random_weights.h"

namespace lathe {
namespace {

using testing::Golden;
using testing::max_difference;
using testing::ModelCase;
using testing::of_prompt;

constexpr double kTolerance = 5e-4;
constexpr int64_t kChunk = 16;

std::unique_ptr<Session> session_of(Graph graph) {
  return std::make_unique<ReferenceSession>(std::make_shared<const Graph>(std::move(graph)));
}

struct FormCase {
  std::string name;
  StaticForm form;
};

std::ostream& operator<<(std::ostream& out, const FormCase& form) { return out << form.name; }

class StaticGraph : public ::testing::TestWithParam<std::tuple<ModelCase, FormCase>> {};

TEST_P(StaticGraph, GivesTheLogitsOfEveryPrompt) {
  const auto& [which, form] = GetParam();
  const Golden golden(which.golden);
  const auto checkpoint = open_source(which.source);
  for (int prompt = 0; prompt < which.prompts; ++prompt) {
    const std::vector<int64_t> ids = golden.ids(of_prompt(prompt, "input_ids"));
    const auto build = [&, &form = form](GraphRole role, int64_t tokens) {
      return session_of(build_static_graph(
          checkpoint, {role, tokens, testing::context_of(ids.size())}, form.form));
    };
    Runner runner(build(GraphRole::decode, 1), build(GraphRole::prefill, kChunk), RunMode::hybrid);
    const double difference = max_difference(testing::prefill_logits(runner, ids),
                                             golden.floats(of_prompt(prompt, "logits")));
    EXPECT_LE(difference, kTolerance) << of_prompt(prompt, "logits");
  }
}

INSTANTIATE_TEST_SUITE_P(, StaticGraph,
                         ::testing::Combine(::testing::ValuesIn(testing::all_models()),
                                            ::testing::Values(FormCase{"plain", {}},
                                                              FormCase{"r3_decomposed",
                                                                       {.r3 = true,
                                                                        .decomposed_silu = true}})),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

// Heads of 24 have no Hadamard matrix of their own.
TEST(StaticGraphR3, AHeadOfAnyEvenSizeIsRotatedWithoutChangingTheLogits) {
  const testing::TestFolder folder;
  nlohmann::json config = testing::model_shape("smallest");
  config.update({{"head_dim", 24}, {"attention_bias", true}});
  testing::write_random_checkpoint(folder.path(), config, 0);
  const auto checkpoint = Checkpoint::open(folder.path());
  const auto logits = [&](const StaticForm& form) {
    Runner runner(session_of(build_static_graph(checkpoint, {GraphRole::decode, 1, 16}, form)),
                  nullptr, RunMode::kv);
    return testing::prefill_logits(runner, std::vector<int64_t>{5, 900, 17, 1200, 3, 3});
  };
  EXPECT_LE(max_difference(logits({}), logits({.r3 = true})), 1e-4);
}

/// The hf pipeline's graph and the static one, float, with every choice of target and rotation.
void expect_isomorphic(const std::shared_ptr<const Checkpoint>& checkpoint) {
  for (const GraphShape& shape :
       {GraphShape{GraphRole::decode, 1, 64}, GraphShape{GraphRole::prefill, 16, 64}}) {
    for (const Target target : {Target::cpu, Target::htp}) {
      for (const bool r3 : {false, true}) {
        SCOPED_TRACE(std::string(name_of(shape.role)) + " " + std::string(name_of(target)) +
                     (r3 ? " r3" : ""));
        const auto build = [&](Variant variant) {
          PassControl control;
          control.options.r3 = r3;
          return float_graph(checkpoint, shape,
                             {.variant = variant, .target = target, .control = control});
        };
        const GraphDiff found = diff(build(Variant::hf), build(Variant::static_form));
        EXPECT_EQ(name_of(found.relation), name_of(GraphRelation::isomorphic))
            << (found.difference ? found.difference->what + " in " + found.difference->module : "");
      }
    }
  }
}

class GraphIdentityOf : public ::testing::TestWithParam<ModelCase> {};

TEST_P(GraphIdentityOf, PassesTurnHuggingFacesGraphIntoTheStaticOne) {
  expect_isomorphic(open_source(GetParam().source));
}

INSTANTIATE_TEST_SUITE_P(, GraphIdentityOf, ::testing::ValuesIn(testing::all_models()),
                         [](const auto& info) { return info.param.name; });

// Biases, a head of its own, heads of 24 rotated by a matrix, as many key-value heads as heads.
TEST(GraphIdentity, HoldsForOtherShapesOfLlama) {
  const testing::TestFolder folder;
  nlohmann::json config = testing::model_shape("smallest");
  config.update({{"head_dim", 24},
                 {"attention_bias", true},
                 {"mlp_bias", true},
                 {"tie_word_embeddings", false},
                 {"num_key_value_heads", 4}});
  testing::write_random_checkpoint(folder.path(), config, 0);
  expect_isomorphic(Checkpoint::open(folder.path()));
}

// All of a head turns in pairs; projections without biases.
TEST(GraphIdentity, HoldsForOtherShapesOfGlm) {
  const testing::TestFolder folder;
  nlohmann::json config = testing::model_shape("smallest");
  config.update({{"model_type", "glm"}, {"partial_rotary_factor", 1.0}, {"attention_bias", false}});
  testing::write_random_checkpoint(folder.path(), config, 0);
  expect_isomorphic(Checkpoint::open(folder.path()));
}

// The prompt in chunks, then token by token; a conversation that went back is as good as new.
TEST(WholeCaches, TheGraphAsTracedRunsAsItStands) {
  const Golden golden(testing::test_data() / "tiny/llama/kv_golden.safetensors");
  const std::vector<int64_t> ids = golden.ids("input_ids");  // [64]
  const std::vector<float> expected = golden.floats("full_logits");
  const auto checkpoint = open_source(testing::tiny_llama().source);
  const auto build = [&](GraphRole role, int64_t tokens) {
    return session_of(
        float_graph(checkpoint, {role, tokens, 64}, {.variant = Variant::hf_mainline}));
  };
  Runner runner(build(GraphRole::decode, 1), build(GraphRole::prefill, kChunk), RunMode::hybrid);
  EXPECT_LE(max_difference(testing::prefill_logits(runner, ids), expected), kTolerance);

  constexpr size_t kPrompt = 37;
  runner.truncate(5);
  runner.prefill(std::span(ids).subspan(5, kPrompt - 5));
  const auto vocab = static_cast<size_t>(runner.vocab());
  std::vector<float> row(vocab);
  for (size_t i = kPrompt; i < ids.size(); ++i) {
    dequantize(runner.step(ids[i]), row);
    EXPECT_LE(max_difference(row, std::span(expected).subspan(i * vocab, vocab)), kTolerance) << i;
  }
}

}  // namespace
}  // namespace lathe
