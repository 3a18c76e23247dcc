// A Granite is a Llama with four multipliers: with neutral ones it is that Llama, bit for bit.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/model_cases.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/test_files.h"
#include "tools/random_weights.h"

namespace lathe {
namespace {

/// By the size of a head.
class GraniteMultipliers : public ::testing::TestWithParam<int64_t> {
 protected:
  GraniteMultipliers() { std::iota(ids_.begin(), ids_.end(), 20); }

  /// Weights are the same whatever the config says of multipliers.
  std::filesystem::path write(const std::string& name, const nlohmann::json& changes) const {
    nlohmann::json config = testing::model_shape("smallest");
    config.update({{"head_dim", GetParam()}, {"num_hidden_layers", 2}});
    config.update(changes);
    testing::write_random_checkpoint(folder_ / name, config, /*seed=*/1);
    return folder_ / name;
  }
  std::filesystem::path llama() const { return write("llama", nlohmann::json::object()); }
  /// With neutral multipliers, `changes` aside.
  std::filesystem::path granite(const nlohmann::json& changes = nlohmann::json::object()) const {
    nlohmann::json config = {
        {"model_type", "granite"},
        {"embedding_multiplier", 1.0},
        {"attention_multiplier", 1.0 / std::sqrt(static_cast<double>(GetParam()))},
        {"residual_multiplier", 1.0},
        {"logits_scaling", 1.0}};
    config.update(changes);
    return write("granite", config);
  }

  std::vector<float> float_logits(const std::filesystem::path& source, Variant variant) const {
    std::vector<float> logits;
    FloatModel(open_source(source), 1, FloatExecutor::reference, {.variant = variant})
        .run(ids_, [&](int64_t, std::span<const float> row) {
          logits.insert(logits.end(), row.begin(), row.end());
        });
    return logits;
  }
  std::vector<float> compiled_logits(const std::filesystem::path& source,
                                     ExecutorKind executor) const {
    const std::filesystem::path artifact = folder_ / "model.lathe";
    compile(source, artifact, {.context = 32, .prefill = 8, .quant = "16a8w", .threads = 2});
    const auto model = LanguageModel::open(artifact, {.executor = executor, .threads = 2});
    return testing::prefill_logits(model->runner(), ids_);
  }

  const testing::TestFolder folder_;
  std::vector<int64_t> ids_ = std::vector<int64_t>(20);
};

TEST_P(GraniteMultipliers, NeutralOnesLeaveALlama) {
  for (const Variant variant : {Variant::hf, Variant::hf_mainline, Variant::static_form}) {
    EXPECT_EQ(float_logits(granite(), variant), float_logits(llama(), variant)) << name_of(variant);
  }
  for (const ExecutorKind executor : {ExecutorKind::reference, ExecutorKind::cpu}) {
    EXPECT_EQ(compiled_logits(granite(), executor), compiled_logits(llama(), executor));
  }
}

TEST_P(GraniteMultipliers, EachOfThemCounts) {
  const std::vector<float> neutral = float_logits(granite(), Variant::hf);
  const nlohmann::json changes = {{"embedding_multiplier", 12.0},
                                  {"attention_multiplier", 0.015625},
                                  {"residual_multiplier", 0.22},
                                  {"logits_scaling", 8.0}};
  for (const auto& [key, value] : changes.items()) {
    EXPECT_NE(float_logits(granite({{key, value}}), Variant::hf), neutral) << key;
  }
}

TEST_P(GraniteMultipliers, LogitsAreDividedByTheirScaling) {
  std::vector<float> expected = float_logits(granite(), Variant::hf);
  for (float& logit : expected) logit /= 8.0f;
  EXPECT_EQ(float_logits(granite({{"logits_scaling", 8.0}}), Variant::hf), expected);
}

// With heads of 16 the scale of attention is exact in binary, with heads of 24 it is not.
INSTANTIATE_TEST_SUITE_P(HeadDim, GraniteMultipliers, ::testing::Values(16, 24));

}  // namespace
}  // namespace lathe
