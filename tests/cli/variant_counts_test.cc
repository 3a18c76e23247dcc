#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/small_model.h"
#include "support/ort_test.h"

// lathe bench --variants SRC --executor htp --counts

namespace lathe {
namespace {

using ::testing::ElementsAre;
using testing::expect_refused;
using testing::expect_wrong_usage;
using ::testing::HasSubstr;
using testing::keys;
using testing::lathe;
using ::testing::Not;
using testing::Outcome;
using testing::TestFolder;
using BenchCounts = testing::OrtTest;

std::vector<std::string> counting(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"bench", "--variants", "tiny", "--context",
                                     "64",    "--executor", "htp",  "--counts"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_F(BenchCounts, PrintsOneTableWithoutSpeed) {
  const TestFolder temporary;
  const Outcome outcome =
      lathe(counting(), {.environment = {"TMPDIR=" + temporary.path().string()}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("static +hf_mainline +hf\n"));
  for (const char* row : {"operators", "  Conv2d", "boundary tensors", "boundary bytes",
                          "caches in", "caches out", "context binary", "weights"}) {
    EXPECT_THAT(outcome.out, HasSubstr(row));
  }
  EXPECT_THAT(outcome.out, HasSubstr("compiled for SM8750 (HTP V79)"));
  EXPECT_THAT(
      outcome.out,
      HasSubstr("hf has no more operators, boundary tensors, boundary bytes or weight bytes than "
                "static"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("tokens/s")));
  EXPECT_THAT(outcome.err, HasSubstr("hf_mainline: compiling context"));
  // ONNX Runtime leaves a file of its own there.
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
}

TEST_F(BenchCounts, Json) {
  const nlohmann::ordered_json report =
      nlohmann::ordered_json::parse(lathe(counting({"--json", "--soc", "v75"})).out);
  EXPECT_THAT(keys(report), ElementsAre("source", "recipe", "context", "chip", "versions",
                                        "variants", "hf_has_more"));
  EXPECT_EQ(report["chip"], "SM8650");
  EXPECT_TRUE(report["hf_has_more"].empty());
  ASSERT_EQ(report["variants"].size(), 3);
  EXPECT_THAT(
      keys(report["variants"][2]),
      ElementsAre("name", "operators", "operator_types", "boundary_tensors", "boundary_bytes",
                  "kv_bytes_in", "kv_bytes_out", "context_bytes", "weight_bytes"));
  EXPECT_EQ(report["variants"][2]["name"], "hf");
}

TEST(BenchCountsUsage, IsRefusedInOneLine) {
  expect_wrong_usage(lathe({"bench", "--variants", "tiny", "--executor", "htp"}),
                     {"simulator", "--counts"});
  expect_wrong_usage(lathe({"bench", "x.lathe", "--executor", "htp"}), {"simulator", "--counts"});
  expect_wrong_usage(lathe({"bench", "--variants", "tiny", "--counts"}),
                     {"--counts", "--executor htp"});
  expect_wrong_usage(lathe({"bench", "--variants", "tiny", "--counts", "--executor", "reference"}),
                     {"--counts", "--executor htp"});
  expect_wrong_usage(lathe({"bench", "--counts", "--executor", "htp"}), {"--variants"});
  expect_wrong_usage(lathe(counting({"-n", "3"})), {"-n", "excludes --counts"});
  expect_wrong_usage(lathe(counting({"--report", "x.html"})), {"--report", "excludes --counts"});
}

TEST(BenchCountsUsage, SaysHowToGetOnnxRuntime) {
  expect_refused(lathe(counting(), {.environment = {"LATHE_ORT_DIR=/no such folder"}}),
                 {"ONNX Runtime", "scripts/get-ort"});
}

}  // namespace
}  // namespace lathe
