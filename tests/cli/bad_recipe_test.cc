#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "cli/program.h"
#include "support/test_files.h"

// Recipes and choices of quantization that cannot be: named before work starts.

namespace lathe {
namespace {

using testing::expect_refused;
using testing::expect_wrong_usage;
using ::testing::HasSubstr;
using testing::lathe;
using testing::Outcome;
using testing::TestFolder;

/// `lathe compile tiny` with some more options; nothing may be written.
Outcome compile_with(const std::vector<std::string>& options) {
  const TestFolder folder;
  const std::filesystem::path output = folder / "out.lathe";
  std::vector<std::string> arguments{"compile", "tiny", "-o", output.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  Outcome outcome = lathe(arguments);
  EXPECT_FALSE(std::filesystem::exists(output));
  return outcome;
}

/// The same with a recipe of one rule.
Outcome compile_with_rule(const std::string& rule) {
  const TestFolder folder;
  std::ofstream(folder / "recipe.json")
      << R"({"name": "x", "dtype": "16a8w", "kv_bits": 8, "rules": [)" << rule << "]}";
  return compile_with({"--recipe", (folder / "recipe.json").string()});
}

TEST(BadRecipe, Unknown) {
  expect_refused(compile_with({"--recipe", "nope"}), {"unknown recipe", "default-16a8w", "nope"});
  expect_refused(compile_with({"--recipe", "/nowhere/x.json"}), {"/nowhere/x.json"});
}

TEST(BadRecipe, KeyThatIsNone) {
  expect_refused(compile_with_rule(R"({"match": {"module": "q_proj"}, "bits": 4})"),
                 {"unknown key", "$.rules[0]", "bits"});
}

TEST(BadRecipe, ExpressionThatDoesNotCompile) {
  expect_refused(compile_with_rule(R"({"match": {"module": "q_(proj"}, "dtype": "16a8w"})"),
                 {"$.rules[0].match", "regular expression", "q_(proj"});
}

TEST(BadRecipe, ExpressionThatMatchesNothing) {
  expect_refused(compile_with_rule(R"({"match": {"module": "wq"}, "dtype": "16a8w"})"),
                 {"$.rules[0]", "matches no weight", "wq"});
}

TEST(BadRecipe, OptionsThatContradictEachOther) {
  expect_refused(compile_with({"--quant", "8a8w", "--kv-bits", "16"}), {"kv_bits", "8a8w"});
  expect_refused(compile_with({"--block", "32"}), {"block", "16a8w"});
  expect_refused(compile_with({"--variant", "hf_mainline", "--r3"}), {"hf_mainline", "R3"});
  expect_wrong_usage(compile_with({"--quant", "16a4w_block", "--block", "24"}), {"--block", "24"});
}

TEST(BadRecipe, PassThatIsNone) {
  expect_refused(compile_with({"--disable-pass", "make_faster"}),
                 {"no such pass", "fold_qdq", "make_faster"});
}

// Found before work starts: nothing but the error is told.
TEST(BadRecipe, WithoutAPassThatMakesIntegersNothingIsWritten) {
  for (const char* pass : {"annotate", "fold_qdq", "tag_quant_io"}) {
    const Outcome outcome = compile_with({"--disable-pass", pass});
    expect_refused(outcome, {pass, "no integer graph", "nothing is written", "--print-after"});
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST(BadRecipe, WithoutAPassThatMakesIntegersGraphsAreStillPrinted) {
  const struct {
    const char* left_out;
    const char* printed;  // behind this pass
    const char* part;
  } cases[] = {{"annotate", "insert_requantize", "aten.matmul"},
               {"fold_qdq", "dead_code", "lathe.dequantize"},
               {"tag_quant_io", "dead_code", "lathe.quantize"}};
  for (const char* variant : {"hf", "hf_mainline", "static"}) {
    for (const auto& [left_out, printed, part] : cases) {
      SCOPED_TRACE(std::string(variant) + " without " + left_out);
      const Outcome outcome = compile_with(
          {"--variant", variant, "--disable-pass", left_out, "--print-after", printed});
      EXPECT_EQ(outcome.exit_code, 1);
      EXPECT_THAT(outcome.out, HasSubstr(std::string("# after ") + printed));
      EXPECT_THAT(outcome.out, HasSubstr(part));
      EXPECT_THAT(outcome.err, HasSubstr(std::string("lathe: without the pass ") + left_out));
    }
  }
}

}  // namespace
}  // namespace lathe
