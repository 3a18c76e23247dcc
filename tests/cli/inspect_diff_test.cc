#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/program.h"
#include "cli/small_model.h"

// lathe inspect MODEL --diff OTHER

namespace lathe {
namespace {

using nlohmann::ordered_json;
using testing::compile_arguments;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::expect_wrong_usage;
using ::testing::HasSubstr;
using testing::keys;
using testing::lathe;
using testing::lathe_output;
using testing::Outcome;
using testing::small_model;
using testing::small_source;
using testing::TestFolder;

/// The small model with another number of prefill tokens: the same decode graph, another prefill
/// graph.
std::string with_prefill(const TestFolder& folder, const std::string& tokens) {
  const std::string path = (folder / ("prefill-" + tokens + ".lathe")).string();
  std::vector<std::string> arguments = compile_arguments(small_source(), path);
  *(std::find(arguments.begin(), arguments.end(), "--prefill") + 1) = tokens;
  lathe_output(arguments);
  return path;
}

TEST(InspectDiff, AModelIsIsomorphicToItself) {
  const Outcome outcome = lathe({"inspect", small_model(), "--diff", small_model()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, ::testing::MatchesRegex("decode: isomorphic, [0-9]+ nodes\n"
                                                   "prefill: isomorphic, [0-9]+ nodes\n"));
  EXPECT_EQ(outcome.err, "");
}

TEST(InspectDiff, ADifferenceIsToldAndGivesExitCode1) {
  const TestFolder folder;
  const Outcome outcome = lathe({"inspect", small_model(), "--diff", with_prefill(folder, "8")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("decode: isomorphic"));
  EXPECT_THAT(outcome.out, HasSubstr("prefill: different"));
  EXPECT_THAT(outcome.out, HasSubstr("tokens per call: 16 and 8"));
  EXPECT_EQ(outcome.err, "");
}

TEST(InspectDiff, ComparesTheGraphsThatBothHave) {
  const TestFolder folder;
  EXPECT_THAT(lathe_output({"inspect", small_model(), "--diff", with_prefill(folder, "1")}),
              ::testing::MatchesRegex("decode: isomorphic, [0-9]+ nodes\n"));
}

TEST(InspectDiff, Json) {
  const TestFolder folder;
  const Outcome outcome =
      lathe({"inspect", small_model(), "--diff", with_prefill(folder, "8"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const ordered_json report = ordered_json::parse(outcome.out);
  EXPECT_THAT(keys(report), ElementsAre("isomorphic", "graphs"));
  EXPECT_EQ(report["isomorphic"], false);
  ASSERT_EQ(report["graphs"].size(), 2);
  const ordered_json& decode = report["graphs"][0];
  EXPECT_THAT(keys(decode), ElementsAre("graph", "relation", "nodes", "operators", "difference"));
  EXPECT_EQ(decode["graph"], "decode");
  EXPECT_EQ(decode["relation"], "isomorphic");
  EXPECT_EQ(decode["nodes"][0], decode["nodes"][1]);
  EXPECT_TRUE(decode["difference"].is_null());
  const ordered_json& prefill = report["graphs"][1];
  EXPECT_EQ(prefill["relation"], "different");
  EXPECT_THAT(keys(prefill["difference"]),
              ElementsAre("what", "output", "path", "module", "first", "second"));
}

TEST(InspectDiff, RefusesWhatItCannotCompare) {
  expect_refused(lathe({"inspect", small_model(), "--diff", "none.lathe"}), {"none.lathe"});
  expect_wrong_usage(lathe({"inspect", "x", "--diff", "y", "--graph", "decode"}), {"--graph"});
  expect_wrong_usage(lathe({"inspect", "x", "--diff", "y", "--plan"}), {"--plan"});
}

}  // namespace
}  // namespace lathe
