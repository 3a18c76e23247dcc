#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/small_model.h"

// lathe bench --variants SRC

namespace lathe {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::expect_wrong_usage;
using ::testing::HasSubstr;
using testing::keys;
using testing::lathe;
using ::testing::Not;
using testing::Outcome;
using testing::read_bytes;
using testing::small_source;
using testing::TestFolder;

std::vector<std::string> quick(const std::string& source, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"bench", "--variants", source, "--context", "64",
                                     "-n",    "2",          "-r",   "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(BenchVariants, PrintsOneTable) {
  const TestFolder temporary;
  const Outcome outcome =
      lathe(quick("tiny"), {.environment = {"TMPDIR=" + temporary.path().string()}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("static +hf_mainline +hf\n"));
  for (const char* row : {"operators", "weights read", "caches in", "caches out", "between nodes",
                          "arena", "artifact", "tokens/s", "perplexity", "logits against float",
                          "tokens/s of hf over static", "tokens/s of hf over hf_mainline"}) {
    EXPECT_THAT(outcome.out, HasSubstr(row));
  }
  EXPECT_THAT(outcome.err, HasSubstr("hf_mainline: calibrating"));
  EXPECT_TRUE(std::filesystem::is_empty(temporary.path()));
}

TEST(BenchVariants, Json) {
  const Outcome outcome = lathe(quick("tiny", {"--json", "-d", "3"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const ordered_json report = ordered_json::parse(outcome.out);
  EXPECT_THAT(keys(report),
              ElementsAre("source", "recipe", "executor", "threads", "context", "depth",
                          "generated", "variants", "hf_over_static", "hf_over_hf_mainline",
                          "hf_and_static", "float_perplexity", "text_tokens", "built_in_text"));
  EXPECT_EQ(report["context"], 64);
  EXPECT_EQ(report["depth"], 3);
  EXPECT_THAT(keys(report["hf_over_static"]), ElementsAre("median", "min", "max"));
  ASSERT_EQ(report["variants"].size(), 3);
  const ordered_json& hf = report["variants"][2];
  EXPECT_THAT(keys(hf),
              ElementsAre("name", "operators", "operator_kinds", "weight_bytes", "kv_bytes_in",
                          "kv_bytes_out", "boundary_bytes", "activation_bytes", "arena_bytes",
                          "artifact_bytes", "tokens_per_s", "perplexity", "sqnr_db", "kl_mean",
                          "top1_agreement"));
  EXPECT_EQ(hf["name"], "hf");
}

TEST(BenchVariants, WritesAPageThatStandsAlone) {
  const TestFolder folder;
  const std::filesystem::path source = folder / "a<b>&\"c";
  std::filesystem::copy(small_source(), source);
  const std::string page = (folder / "page.html").string();
  const Outcome outcome = lathe(quick(source.string(), {"--report", page}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string html = read_bytes(page);
  EXPECT_THAT(html, ::testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, HasSubstr("<h1>a&lt;b&gt;&amp;&quot;c: static, hf_mainline and hf</h1>"));
  EXPECT_THAT(html, Not(HasSubstr("a<b>")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  for (const char* tag : {"svg", "section", "table", "tr", "td", "div", "h2", "p"}) {
    EXPECT_EQ(count(html, "<" + std::string(tag) + ">") + count(html, "<" + std::string(tag) + " "),
              count(html, "</" + std::string(tag) + ">"))
        << tag;
  }
  EXPECT_EQ(count(html, "role=\"img\""), 8);  // charts
}

TEST(BenchVariants, AreRefusedInOneLine) {
  expect_refused(lathe(quick("tiny", {"--report", "/no such folder/page.html"})),
                 {"/no such folder/page.html"});
  expect_refused(lathe(quick("tiny", {"-d", "63"})), {"at most 64", "65"});
  expect_refused(lathe({"bench", "--variants", "tiny", "--context", "9000000000000000000"}),
                 {"--context", "at most 512"});
  expect_refused(lathe(quick("no such source")), {"no such source"});
  expect_wrong_usage(lathe({"bench"}), {"MODEL is required, or --variants"});
  expect_wrong_usage(lathe({"bench", "x.lathe", "--variants", "tiny"}), {"excludes"});
  expect_wrong_usage(lathe({"bench", "x.lathe", "--report", "x.html"}), {"requires --variants"});
  expect_wrong_usage(lathe({"bench", "--variants", "tiny", "-n", "0"}), {"-n", "at least 1"});
}

}  // namespace
}  // namespace lathe
