#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/small_model.h"

// What a model writes depends on the model, the prompt and the seed, and on nothing else.

namespace lathe {
namespace {

using nlohmann::ordered_json;
using testing::json_output;
using testing::lathe_output;
using testing::read_bytes;
using testing::small_model;
using testing::TestFolder;

// Several chunks of the prefill graph's 16 tokens and a rest.
const std::string kPrompt = "It was a bright cold day in April, and the clocks were striking.";

ordered_json ids(const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"run", small_model(), "--prompt", kPrompt,
                                     "-n",  "24",          "--json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return json_output(arguments)["ids"];
}

const std::vector<std::string> kSampled{"--temperature", "1.2", "--top-k", "50", "--top-p", "0.95"};

ordered_json sampled(std::vector<std::string> options) {
  options.insert(options.end(), kSampled.begin(), kSampled.end());
  return ids(options);
}

TEST(Determinism, TheSameSeedGivesTheSameText) {
  EXPECT_EQ(sampled({"--seed", "7"}), sampled({"--seed", "7"}));
  EXPECT_NE(sampled({"--seed", "7"}), sampled({"--seed", "8"}));
}

TEST(Determinism, ThreadsDoNotMatter) {
  EXPECT_EQ(sampled({"--threads", "1"}), sampled({"--threads", "2"}));
}

TEST(Determinism, ChunksOfThePromptDoNotMatter) {
  EXPECT_EQ(sampled({"--mode", "kv"}), sampled({"--mode", "hybrid"}));
}

TEST(Determinism, TheExecutorDoesNotMatter) {
  EXPECT_EQ(ids({"--executor", "cpu"}), ids({"--executor", "reference"}));
}

TEST(Determinism, LogitsAreEqualByteForByte) {
  const TestFolder folder;
  const auto logits = [&](const std::vector<std::string>& options) {
    const std::string output = (folder / "logits.safetensors").string();
    std::vector<std::string> arguments{
        "logits", small_model(), "--ids", "378,3,1,4,1,5,9,2,6,5,3,5,8,9,7,9,3,2", "-o", output};
    arguments.insert(arguments.end(), options.begin(), options.end());
    lathe_output(arguments);
    return read_bytes(output);
  };
  const std::string expected = logits({});
  EXPECT_EQ(logits({"--mode", "kv"}), expected);
  EXPECT_EQ(logits({"--threads", "1"}), expected);
}

TEST(Determinism, CompilingTwiceGivesTheSameArtifact) {
  const TestFolder folder;
  const std::string again = (folder / "again.lathe").string();
  std::vector<std::string> arguments = testing::compile_arguments(testing::small_source(), again);
  arguments.insert(arguments.end(), {"--threads", "1"});
  lathe_output(arguments);
  EXPECT_TRUE(read_bytes(again) == read_bytes(small_model()));
}

}  // namespace
}  // namespace lathe
