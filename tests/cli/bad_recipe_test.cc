#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "support/test_files.h"

// Recipes and choices of quantization that cannot be: named before work starts.

namespace lathe {
namespace {

using testing::expect_refused;
using testing::expect_wrong_usage;
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

TEST(BadRecipe, WithoutAPassThatMakesIntegersNothingIsWritten) {
  expect_refused(compile_with({"--disable-pass", "fold_qdq"}),
                 {"disabled passes", "no integer graph", "--print-after"});
}

}  // namespace
}  // namespace lathe
