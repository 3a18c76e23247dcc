#include <gtest/gtest.h>

#include "cli/checkpoint_folder.h"
#include "cli/program.h"
#include "cli/small_model.h"

// Files that are no artifact, or one that is damaged: refused by every command that opens one.

namespace lathe {
namespace {

using testing::expect_refused;
using testing::lathe;
using testing::Outcome;
using testing::read_bytes;
using testing::small_model;
using testing::small_source;
using testing::TestFolder;

Outcome run(const std::string& model) { return lathe({"run", model, "--prompt", "a", "-n", "1"}); }

TEST(BadArtifact, IsRefusedByEveryCommand) {
  const TestFolder folder;
  const std::string text = folder.write("text.txt", "It is a truth").string();
  const std::string notes = folder.write("notes.lathe", "these are notes").string();
  for (const std::string& model : {notes, std::string("no/such.lathe")}) {
    SCOPED_TRACE(model);
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"run", model, "--prompt", "a"},
             {"chat", model},
             {"logits", model, "--ids", "1", "-o", (folder / "logits").string()},
             {"eval", model, "--text", text},
             {"eval", small_source(), "--text", text, "--against", model},
             {"bench", model},
             {"bench", small_model(), model},
             {"inspect", model},
             {"tokenize", model, "--text", "a"}}) {
      SCOPED_TRACE(command.front());
      expect_refused(lathe(command), {model});
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "logits"));
}

TEST(BadArtifact, IsAFileOfAnotherKind) {
  const TestFolder folder;
  expect_refused(run(small_source()), {small_source(), "a folder", "lathe compile"});
  expect_refused(run(small_source() + "/model.safetensors"),
                 {"model.safetensors", "not a compiled model", "lathe compile"});
  expect_refused(run(folder.write("model.gguf", "GGUF\3").string()),
                 {"model.gguf", "GGUF", "lathe compile"});
  expect_refused(run(small_source() + "/config.json"), {"config.json", "not a compiled model"});
  expect_refused(run(folder.write("empty.lathe", "").string()), {"empty.lathe", "an empty file"});
  expect_refused(
      run(folder.write("lfs.lathe", "version https://git-lfs.github.com/spec/v1\n").string()),
      {"lfs.lathe", "Git LFS pointer"});
}

TEST(BadArtifact, IsTruncated) {
  const TestFolder folder;
  const std::string whole = read_bytes(small_model());
  for (const size_t size : {size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{1000},
                            whole.size() / 4, whole.size() / 2, whole.size() - 1}) {
    SCOPED_TRACE(size);
    expect_refused(run(folder.write("short.lathe", whole.substr(0, size)).string()),
                   {"short.lathe"});
  }
}

TEST(BadArtifact, HasBytesAtItsEnd) {
  const TestFolder folder;
  expect_refused(run(folder.write("long.lathe", read_bytes(small_model()) + "x").string()),
                 {"long.lathe"});
}

TEST(BadArtifact, IsAltered) {
  const TestFolder folder;
  const std::string whole = read_bytes(small_model());
  const auto refuse = [&](size_t byte, const std::vector<std::string>& words) {
    SCOPED_TRACE(byte);
    std::string altered = whole;
    altered[byte] = static_cast<char>(altered[byte] ^ 0x40);
    expect_refused(run(folder.write("altered.lathe", altered).string()), words);
  };
  refuse(3, {"altered.lathe"});                             // the length of the header
  refuse(20, {"altered.lathe"});                            // in the header
  refuse(2000, {"altered.lathe"});                          // in the description of the graphs
  refuse(whole.size() / 2, {"altered.lathe", "checksum"});  // in the weights
  refuse(whole.size() * 3 / 4, {"altered.lathe", "checksum"});
  refuse(whole.size() - 10, {"altered.lathe", "checksum"});  // in the checksum itself
}

// The context lives in the graphs: changing it where it is only told is noticed, in every place.
TEST(BadArtifact, ClaimsAnotherContext) {
  const TestFolder folder;
  const std::string whole = read_bytes(small_model());
  const std::string told = "\\\"context\\\":128";
  const auto refuse = [&](std::string bytes) {
    expect_refused(run(folder.write("altered.lathe", bytes).string()), {"altered.lathe"});
  };
  std::string everywhere = whole;
  size_t places = 0;
  for (size_t at = whole.find(told); at != std::string::npos; at = whole.find(told, at + 1)) {
    std::string bytes = whole;
    bytes.replace(at, told.size(), "\\\"context\\\":256");
    everywhere.replace(at, told.size(), "\\\"context\\\":256");
    refuse(bytes);
    ++places;
  }
  EXPECT_GE(places, 2u);
  refuse(everywhere);
}

}  // namespace
}  // namespace lathe
