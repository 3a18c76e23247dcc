// Files that are not what lathe wrote.

#include <gtest/gtest.h>

#include "artifact/read.h"
#include "artifact/small_model.h"
#include "artifact/write.h"
#include "support/expect_error.h"
#include "support/safetensors.h"
#include "support/safetensors_bytes.h"
#include "support/test_files.h"

namespace lathe::testing {
namespace {

class Corruption : public ::testing::Test {
 protected:
  Corruption() {
    write_model(small_model(), path_);
    bytes_ = read_bytes(path_);
  }

  /// Whether the bytes are refused, with one line.
  bool refused(std::string_view bytes, WeightCheck check = WeightCheck::checksum) const {
    const auto path = folder_.write("changed.lathe", bytes);
    try {
      read_model(path, check);
      return false;
    } catch (const Error& error) {
      return std::string_view(error.what()).find('\n') == std::string_view::npos;
    }
  }

  size_t begin_of(std::string_view tensor) const {
    return SafetensorsFile::open(path_).get(tensor).begin;
  }

  TestFolder folder_;
  std::filesystem::path path_ = folder_ / "model.lathe";
  std::string bytes_;
};

TEST_F(Corruption, TruncationsAreRefused) {
  for (size_t length = 0; length < bytes_.size(); length += length < 64 ? 1 : 13) {
    EXPECT_TRUE(refused(bytes_.substr(0, length), WeightCheck::sizes)) << length;
  }
  EXPECT_TRUE(refused(bytes_.substr(0, bytes_.size() - 1), WeightCheck::sizes));
}

TEST_F(Corruption, AnAddedByteIsRefused) {
  EXPECT_TRUE(refused(bytes_ + '\0', WeightCheck::sizes));
}

TEST_F(Corruption, EveryFlippedByteIsRefused) {
  for (size_t at = 0; at < bytes_.size(); ++at) {
    std::string changed = bytes_;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    EXPECT_TRUE(refused(changed)) << at;
  }
}

TEST_F(Corruption, OnlyWeightsAreLeftToTheirOwnChecksum) {
  const size_t weights = begin_of("model.embed_tokens.weight.u16");
  for (size_t at = 0; at < bytes_.size(); at += 11) {
    std::string changed = bytes_;
    changed[at] ^= '\x04';
    EXPECT_EQ(refused(changed, WeightCheck::sizes), at < weights) << at;
  }
}

TEST_F(Corruption, DamageIsCalledSo) {
  std::string changed = bytes_;
  changed[begin_of("tokenizer.json")] ^= 1;
  expect_error([&] { read_model(folder_.write("a.lathe", changed)); },
               {"a.lathe: the checksum of the description of the model is wrong", "damaged"});
  changed = bytes_;
  changed[begin_of("rope.table.u16")] ^= 1;
  expect_error([&] { read_model(folder_.write("a.lathe", changed)); },
               {"a.lathe: the checksum of the weights is wrong", "damaged"});
}

TEST(OtherFiles, EachIsToldFromACompiledModel) {
  const TestFolder folder;
  const auto refuse = [&](std::string_view bytes, const std::vector<std::string>& parts) {
    expect_error([&] { read_model(folder.write("file", bytes)); }, parts);
  };
  const std::string advice = "compile it first: lathe compile";
  refuse("", {"not a compiled model", "an empty file"});
  refuse("hello, I am a text", {"not a compiled model", "a file of another kind"});
  refuse("{", {"not a compiled model"});
  refuse(std::string_view("GGUF\3\0\0\0\0\0\0\0", 12), {"a GGUF checkpoint", advice});
  refuse(safetensors_bytes(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"),
         {"a safetensors file of weights", advice});
  refuse("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", {"LFS"});
  expect_error([&] { read_model(folder.path()); }, {"a folder", advice});
  expect_error([&] { read_model(folder / "nothing"); }, {"cannot open the file"});
}

TEST(OtherFiles, OtherVersionsAreNamed) {
  const TestFolder folder;
  const auto refuse = [&](const std::string& version, const std::vector<std::string>& parts) {
    const std::string header = R"({"__metadata__":{"lathe.format_version":")" + version + R"("}})";
    expect_error([&] { read_model(folder.write("m.lathe", safetensors_bytes(header, ""))); },
                 parts);
  };
  refuse("4", {"another format version", "expected 3, found 4", "get a newer lathe"});
  refuse("2", {"another format version", "expected 3, found 2", "compile the model again"});
  refuse("one", {"not a number", "found one"});
  refuse("0", {"not a number"});
  refuse("3", {"the checksum is missing"});
}

}  // namespace
}  // namespace lathe::testing
