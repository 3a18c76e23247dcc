#include "api/variant_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/model_cases.h"
#include "api/variants.h"
#include "lathe/export.h"
#include "lathe/language_model.h"
#include "support/expect_error.h"
#include "support/ort_test.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::IsEmpty;
using testing::TestFolder;
using VariantCountsOfTiny = testing::OrtTest;

VariantCountsOptions at_context(int64_t context) {
  VariantCountsOptions options;
  options.compile.context = context;
  return options;
}

TEST_F(VariantCountsOfTiny, HfHasNoMoreThanStatic) {
  const VariantCountsReport report = count_variants("tiny", at_context(64));
  EXPECT_EQ(report.source, "tiny");
  EXPECT_EQ(report.recipe, "tiny");
  EXPECT_EQ(report.context, 64);
  EXPECT_EQ(report.chip.name, "SM8750");
  EXPECT_EQ(report.versions.at("onnxruntime-qnn"), "2.7.0");
  ASSERT_EQ(report.variants.size(), kVariants.size());
  const VariantCounts& by_hand = report.variants[0];
  const VariantCounts& mainline = report.variants[1];
  const VariantCounts& hf = report.variants[2];
  EXPECT_EQ(by_hand.name, "static");
  EXPECT_EQ(hf.name, "hf");
  EXPECT_THAT(excess(hf, by_hand), IsEmpty());

  // 4 layers of keys and values, 2 heads of 32: one byte each and a slot left for the new pair,
  // or two bytes each, all slots, there and back.
  constexpr int64_t kSlot = 4 * 2 * 2 * 32;
  EXPECT_EQ(hf.kv_bytes_in, kSlot * 63);
  EXPECT_EQ(hf.kv_bytes_out, kSlot);
  EXPECT_EQ(mainline.kv_bytes_in, kSlot * 64 * 2);
  EXPECT_EQ(mainline.kv_bytes_out, kSlot * 64 * 2);

  // Scores and sums of 4 layers: by head, of which there are 4, or all at once as traced.
  EXPECT_EQ(hf.compiled.operators.at("MatMul"), 4 * 2 * 4);
  EXPECT_EQ(mainline.compiled.operators.at("MatMul"), 4 * 2);
  // Tokens, mask, cos and sin aside, each layer has two caches in and two out.
  for (const VariantCounts& counts : report.variants) {
    SCOPED_TRACE(counts.name);
    EXPECT_GT(counts.compiled.boundary_tensors, 4 * 4);
    EXPECT_GT(counts.compiled.boundary_bytes, counts.kv_bytes_in + counts.kv_bytes_out);
    EXPECT_GT(counts.context_bytes, counts.weight_bytes);
  }
}

class VariantCountsOfFamily : public testing::OrtTest,
                              public ::testing::WithParamInterface<testing::ModelCase> {};

TEST_P(VariantCountsOfFamily, HfHasNoMoreThanStatic) {
  const VariantCountsReport report = count_variants(GetParam().source, at_context(64));
  ASSERT_EQ(report.variants.size(), kVariants.size());
  EXPECT_THAT(excess(report.variants[2], report.variants[0]), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, VariantCountsOfFamily, ::testing::ValuesIn(testing::all_models()),
                         [](const auto& info) { return info.param.name; });

/// Its graph goes to the compiler as it was traced; what is counted is what computes the same.
TEST_F(VariantCountsOfTiny, HfMainlineWritesTheSameOnTheSimulator) {
  const TestFolder folder;
  CompileOptions options;
  options.variant = "hf_mainline";
  options.target = "htp";
  options.context = 64;
  options.prefill = 1;
  options.calibration_tokens = 64;
  compile("tiny", folder / "model.lathe", options);
  export_model(folder / "model.lathe", folder / "export", {.format = "htp", .soc = "SM8750"});
  const auto reference =
      LanguageModel::open(folder / "model.lathe", {.executor = ExecutorKind::reference});
  const auto htp = LanguageModel::open(folder / "export", {.executor = ExecutorKind::htp});
  const std::vector<int64_t> prompt = reference->encode("She walked");
  const GenerateOptions four{.max_new_tokens = 4};
  EXPECT_EQ(htp->generate(prompt, {}, four).ids, reference->generate(prompt, {}, four).ids);
}

TEST_F(VariantCountsOfTiny, AreRefusedBeforeAnythingIsCompiled) {
  VariantCountsOptions options;
  options.compile.progress = [](std::string_view what) { ADD_FAILURE() << what; };
  options.soc = "SM1";
  expect_error([&] { count_variants("tiny", options); }, {"SM1", "SM8750"});
  options = at_context(9000);
  expect_error([&] { count_variants("tiny", options); }, {"--context", "512"});
}

TEST(VariantCounts, ExcessNamesWhatThereIsMoreOf) {
  const VariantCounts few{.name = "few",
                          .compiled = {{{"Conv2d", 2}, {"Reshape", 1}}, 4, 100},
                          .kv_bytes_in = 60,
                          .kv_bytes_out = 20,
                          .context_bytes = 1000,
                          .weight_bytes = 900};
  EXPECT_THAT(excess(few, few), IsEmpty());
  VariantCounts more = few;
  more.compiled.operators["MatMul"] = 1;
  more.compiled.boundary_tensors = 5;
  more.kv_bytes_out = 21;
  EXPECT_THAT(excess(more, few), ElementsAre("operators", "boundary tensors", "cache bytes"));
  EXPECT_THAT(excess(few, more), IsEmpty());
}

}  // namespace
}  // namespace lathe
