#include <gtest/gtest.h>

#include "cli/checkpoint_folder.h"
#include "cli/program.h"
#include "cli/small_model.h"

// Prompts, texts and ids that a model cannot take.

namespace lathe {
namespace {

using testing::CheckpointFolder;
using testing::compile_arguments;
using testing::contents;
using testing::expect_refused;
using testing::kContext;
using testing::lathe;
using testing::lathe_output;
using testing::small_model;
using testing::small_source;
using testing::Surroundings;
using testing::TestFolder;

/// The small model made from a checkpoint without a chat template that adds no first token.
std::string bare_model() {
  static const TestFolder folder;
  static const std::string path = [] {
    const CheckpointFolder checkpoint;
    checkpoint.write("tokenizer_config.json", R"({"add_bos_token": false})");
    std::string file = (folder / "bare.lathe").string();
    lathe_output(compile_arguments(checkpoint.path(), file));
    return file;
  }();
  return path;
}

TEST(BadPrompt, LongerThanTheContext) {
  const std::string prompt(400, '7');
  // 400 digits of a token each, and the one that the tokenizer puts before them.
  const std::vector<std::string> words{std::to_string(kContext), "401", "--context"};
  expect_refused(lathe({"run", small_model(), "--prompt", prompt}), words);
  expect_refused(lathe({"run", small_model(), "--prompt", prompt, "--json"}), words);
  expect_refused(lathe({"run", small_model(), "--chat", prompt}), {std::to_string(kContext)});
  Surroundings around;
  around.input = prompt + "\n";
  expect_refused(lathe({"chat", small_model()}, around), {std::to_string(kContext)});
}

TEST(BadPrompt, Empty) {
  expect_refused(lathe({"run", bare_model(), "--prompt", ""}), {"no tokens"});
}

TEST(BadPrompt, NotUtf8) {
  expect_refused(lathe({"run", small_model(), "--prompt", "ab\xff"}),
                 {"--prompt", "UTF-8", "byte 2"});
  expect_refused(lathe({"run", small_model(), "--chat", "\xc3"}), {"--chat", "UTF-8", "byte 0"});
  expect_refused(lathe({"run", small_model(), "--chat", "a", "--system", "\xed\xa0\x80"}),
                 {"--system", "UTF-8"});
  Surroundings around;
  around.input = "\xff\n";
  expect_refused(lathe({"chat", small_model()}, around), {"UTF-8"});
}

TEST(BadPrompt, ChatWithoutATemplate) {
  expect_refused(lathe({"run", bare_model(), "--chat", "Hi"}), {bare_model(), "chat template"});
  Surroundings around;
  around.input = "Hi\n";
  expect_refused(lathe({"chat", bare_model()}, around), {bare_model(), "chat template"});
}

TEST(BadSampling, ZeroWhereItHasNoMeaning) {
  const auto refuse = [](const char* option) {
    expect_refused(lathe({"run", small_model(), "--prompt", "a", std::string("--") + option, "0"}),
                   {option, "0"});
  };
  refuse("top-p");
  refuse("repeat-penalty");
}

TEST(BadSampling, EmptyStopText) {
  expect_refused(lathe({"run", small_model(), "--prompt", "a", "--stop", ""}), {"stop"});
}

TEST(BadIds, OutsideTheVocabulary) {
  const TestFolder folder;
  for (const std::string& model : {small_model(), small_source()}) {
    for (const char* ids : {"1,384", "-1", "1,2,9223372036854775807"}) {
      SCOPED_TRACE(ids);
      const std::string output = (folder / "logits.safetensors").string();
      expect_refused(lathe({"logits", model, "--ids", ids, "-o", output}),
                     {"0 to 383", std::string(ids).substr(std::string(ids).rfind(',') + 1)});
    }
  }
  EXPECT_TRUE(contents(folder.path()).empty());
}

TEST(BadIds, MoreThanTheContext) {
  const TestFolder folder;
  std::string ids = "1";
  for (int i = 0; i < kContext; ++i) ids += ",1";
  expect_refused(lathe({"logits", small_model(), "--ids", ids, "-o", (folder / "logits").string()}),
                 {std::to_string(kContext), std::to_string(kContext + 1)});
  EXPECT_TRUE(contents(folder.path()).empty());
}

TEST(BadOutput, OfLogits) {
  const TestFolder folder;
  const auto write = [](const std::string& output) {
    return lathe({"logits", small_model(), "--ids", "1", "-o", output});
  };
  expect_refused(write((folder / "no/logits").string()), {"no/logits"});
  expect_refused(write(folder.path().string()), {folder.path().string(), "a folder"});
  expect_refused(write("/dev/full"), {"/dev/full", "space"});
  EXPECT_TRUE(contents(folder.path()).empty());
}

TEST(BadText, OfEval) {
  const TestFolder folder;
  const auto eval = [](const std::string& text) {
    return lathe({"eval", small_model(), "--text", text});
  };
  expect_refused(eval("no/such.txt"), {"no/such.txt"});
  expect_refused(eval(folder.path().string()), {folder.path().string(), "a folder"});
  expect_refused(eval(folder.write("empty.txt", "").string()), {"empty.txt", "at least 2 tokens"});
  expect_refused(eval(folder.write("bytes.txt", "ab\xff").string()),
                 {"bytes.txt", "UTF-8", "byte 2"});
}

TEST(BadText, WindowsThatDoNotFit) {
  const TestFolder folder;
  const std::string text = folder.write("text.txt", "It is a truth").string();
  expect_refused(lathe({"eval", small_model(), "--text", text, "--context", "129"}),
                 {"--context", "128", "129"});
  expect_refused(
      lathe({"eval", small_model(), "--text", text, "--context", "16", "--stride", "17"}),
      {"--stride", "16", "17"});
}

TEST(BadText, ModelsOfDifferentVocabularies) {
  const TestFolder folder;
  const std::string text = folder.write("text.txt", "It is a truth").string();
  expect_refused(lathe({"eval", small_model(), "--text", text, "--against", "tiny"}),
                 {"vocabular", "384", "1536"});
}

TEST(BadBench, MoreTokensThanTheContext) {
  expect_refused(lathe({"bench", small_model(), "-p", "129", "-n", "1"}), {"128", "129"});
  expect_refused(lathe({"bench", small_model(), "-p", "1", "-n", "90", "-d", "40"}),
                 {"128", "130"});
}

TEST(BadEnvironment, UnknownInstructionSet) {
  Surroundings around;
  around.environment = {"LATHE_ISA=abacus"};
  expect_refused(lathe({"run", small_model(), "--prompt", "a"}, around),
                 {"LATHE_ISA", "portable", "abacus"});
}

}  // namespace
}  // namespace lathe
