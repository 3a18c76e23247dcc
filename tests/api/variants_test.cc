#include "api/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::expect_error;
using testing::TestFolder;

/// Few tokens of everything: what is checked is exact at any number of them.
VariantsOptions quick() {
  VariantsOptions options;
  options.compile.context = 64;
  options.compile.calibration_tokens = 64;
  options.generate = 2;
  options.rounds = 2;
  options.text = "It is a truth universally acknowledged, that a single man";
  return options;
}

/// Sends temporary files to a folder of the test.
class Variants : public ::testing::Test {
 protected:
  Variants() { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~Variants() override { ::unsetenv("TMPDIR"); }
  bool nothing_is_left() const { return std::filesystem::is_empty(folder_.path()); }

 private:
  TestFolder folder_;
};

TEST_F(Variants, ComparesTheEmbeddedModel) {
  const VariantsReport report = compare_variants("tiny", quick());
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(report.source, "tiny");
  EXPECT_EQ(report.context, 64);
  EXPECT_EQ(report.depth, 62);
  EXPECT_FALSE(report.built_in_text);
  ASSERT_EQ(report.variants.size(), 3);
  const VariantResult& by_hand = report.variants[0];
  const VariantResult& mainline = report.variants[1];
  const VariantResult& hf = report.variants[2];
  EXPECT_EQ(by_hand.name, "static");
  EXPECT_EQ(mainline.name, "hf_mainline");
  EXPECT_EQ(hf.name, "hf");

  // 4 layers of keys and values, 2 heads of 32: one byte each and a slot left for the new pair,
  // or two bytes each, all slots, there and back.
  constexpr int64_t kSlot = 4 * 2 * 2 * 32;
  for (const VariantResult* result : {&by_hand, &hf}) {
    EXPECT_EQ(result->summary.kv_bytes_in, kSlot * 63);
    EXPECT_EQ(result->summary.kv_bytes_out, kSlot);
  }
  EXPECT_EQ(mainline.summary.kv_bytes_in, kSlot * 64 * 2);
  EXPECT_EQ(mainline.summary.kv_bytes_out, kSlot * 64 * 2);
  EXPECT_GT(mainline.summary.operator_count(), hf.summary.operator_count());
  EXPECT_GT(mainline.summary.boundary_bytes, 1536 * 2);  // the logits, and more
  EXPECT_EQ(report.static_and_hf.nodes[0], by_hand.summary.operator_count());
  EXPECT_EQ(report.static_and_hf.nodes[1], hf.summary.operator_count());

  for (const VariantResult& result : report.variants) {
    SCOPED_TRACE(result.name);
    EXPECT_GT(result.summary.weight_bytes, 0);
    EXPECT_LT(result.summary.weight_bytes, result.artifact_bytes);
    EXPECT_GT(result.arena_bytes, 0);
    EXPECT_EQ(result.tokens_per_s.size(), 2);
    EXPECT_GT(result.perplexity.tokens, 0);
    EXPECT_TRUE(std::isfinite(result.perplexity.perplexity));
    EXPECT_EQ(result.agreement.positions, result.perplexity.tokens);
  }
  EXPECT_EQ(report.hf_over_static.size(), 2);
  EXPECT_EQ(report.hf_over_hf_mainline.size(), 2);
}

TEST_F(Variants, LeaveNothingBehindAfterAnError) {
  VariantsOptions options = quick();
  options.compile.recipe = "no such recipe";
  expect_error([&] { compare_variants("tiny", options); }, {"no such recipe"});
  EXPECT_TRUE(nothing_is_left());

  // Some way in: while the second variant is compiled.
  options = quick();
  options.compile.progress = [](std::string_view what) {
    if (what == "hf_mainline: building graphs") throw Error("stopped here");
  };
  expect_error([&] { compare_variants("tiny", options); }, {"stopped here"});
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Variants, AreRefusedBeforeAnythingIsCompiled) {
  VariantsOptions options = quick();
  options.compile.progress = [](std::string_view what) { ADD_FAILURE() << what; };
  options.depth = 63;
  expect_error([&] { compare_variants("tiny", options); }, {"at most 64", "65", "--context"});
  options.depth = 0;
  options.text = "";
  expect_error([&] { compare_variants("tiny", options); }, {"too short", "at least 2 tokens"});
}

}  // namespace
}  // namespace lathe
