#include "checkpoint/gguf_files.h"

#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/gguf_builder.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::expect_error;
using testing::GgufBuilder;
using testing::TestFolder;

uint16_t u16(int value) { return static_cast<uint16_t>(value); }

/// One part of a split model, with the three keys that llama.cpp's gguf-split writes.
GgufBuilder part(int number, int count, int tensors) {
  GgufBuilder gguf;
  gguf.add("split.no", 2, GgufBuilder::raw(u16(number - 1)))
      .add("split.count", 2, GgufBuilder::raw(u16(count)))
      .add("split.tensors.count", 5, GgufBuilder::raw(int32_t{tensors}));
  return gguf;
}

/// A model of three parts: metadata in the first, one tensor in each of the others.
struct SplitModel {
  SplitModel() {
    folder.write("m-00001-of-00003.gguf", part(1, 3, 2).string("general.name", "x").bytes());
    folder.write("m-00002-of-00003.gguf", part(2, 3, 2).f32("b", {1}, {2.0f}).bytes());
    folder.write("m-00003-of-00003.gguf", part(3, 3, 2).f32("a", {1}, {3.0f}).bytes());
  }
  void expect_refused(const std::vector<std::string>& parts) const {
    expect_error([&] { open_gguf_files(folder / "m-00001-of-00003.gguf"); }, parts);
  }

  TestFolder folder;
};

TEST(GgufFiles, ASplitModelOpensByAnyOfItsParts) {
  const SplitModel model;
  for (const char* name :
       {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
    const GgufFiles opened = open_gguf_files(model.folder / name);
    EXPECT_EQ(opened.gguf.string("general.name"), "x");
    ASSERT_EQ(opened.gguf.tensors().size(), 2u);
    float value = 0.0f;
    std::memcpy(&value, opened.gguf.find_tensor("a")->bytes.data(), sizeof value);
    EXPECT_EQ(value, 3.0f);
    std::memcpy(&value, opened.gguf.find_tensor("b")->bytes.data(), sizeof value);
    EXPECT_EQ(value, 2.0f);
  }
}

TEST(GgufFiles, OneFileIsAModelUnderAnyName) {
  const TestFolder folder;
  const std::string bytes = GgufBuilder().f32("a", {1}, {3.0f}).bytes();
  for (const char* name : {"m.gguf", "m-00001-of-00003.gguf", "00001-of-00001.gguf"}) {
    EXPECT_EQ(open_gguf_files(folder.write(name, bytes)).gguf.tensors().size(), 1u);
  }
}

TEST(GgufFiles, NamesMissingParts) {
  const SplitModel model;
  std::filesystem::remove(model.folder / "m-00003-of-00003.gguf");
  model.expect_refused({"m-00003-of-00003.gguf", "is missing", "3 parts in one folder"});
  std::filesystem::remove(model.folder / "m-00002-of-00003.gguf");
  model.expect_refused({"m-00002-of-00003.gguf", "2 are missing in all"});
}

TEST(GgufFiles, RefusesPartsThatAreNotWhatTheirNamesSay) {
  const SplitModel model;
  model.folder.write("m-00002-of-00003.gguf", part(3, 3, 2).f32("b", {1}, {2.0f}).bytes());
  model.expect_refused({"m-00002-of-00003.gguf: split.no", "expected 1", "found 2"});
  model.folder.write("m-00002-of-00003.gguf", part(2, 4, 2).f32("b", {1}, {2.0f}).bytes());
  model.expect_refused({"m-00002-of-00003.gguf: split.count", "expected 3", "found 4"});
  model.folder.write("m-00002-of-00003.gguf", GgufBuilder().bytes());
  model.expect_refused({"m-00002-of-00003.gguf: split.count", "found nothing"});
  model.folder.write("m-00002-of-00003.gguf", part(2, 3, 2).f32("a", {1}, {2.0f}).bytes());
  model.expect_refused({"m-00001-of-00003.gguf: a", "given twice"});
  model.folder.write("m-00002-of-00003.gguf", part(2, 3, 2).bytes());
  model.expect_refused({"split.tensors.count", "expected 2", "found 1"});
}

TEST(GgufFiles, RefusesAPartWhoseNameDoesNotSayWhich) {
  const TestFolder folder;
  const std::string bytes = part(1, 2, 0).bytes();
  for (const char* name : {"m.gguf", "m-1-of-2.gguf", "m-00003-of-00002.gguf",
                           "m-0000a-of-00002.gguf", "m-00000-of-00002.gguf"}) {
    expect_error([&] { open_gguf_files(folder.write(name, bytes)); },
                 {name, "does not say which", "2 parts"});
  }
}

}  // namespace
}  // namespace lathe
