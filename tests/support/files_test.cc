#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "support/error.h"
#include "support/expect_error.h"
#include "support/lfs_pointer.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TestFolder;

size_t files_in(const TestFolder& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

TEST(TemporaryFolder, GoesWithAllThatIsInIt) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    const TemporaryFolder other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    std::filesystem::create_directory(path / "inner");
    std::ofstream(path / "inner" / "file") << "text";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MappedFile, ShowsTheBytesForAsLongAsAnyCopyLives) {
  const TestFolder folder;
  std::shared_ptr<const std::byte> kept;
  {
    const MappedFile file = MappedFile::open(folder.write("a", "hello"));
    ASSERT_EQ(file.bytes().size(), 5u);
    kept = file.share(1);
  }
  EXPECT_EQ(std::memcmp(kept.get(), "ello", 4), 0);
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const TestFolder folder;
  EXPECT_TRUE(MappedFile::open(folder.write("empty", "")).bytes().empty());
}

TEST(MappedFile, SaysWhatIsNotAFile) {
  const TestFolder folder;
  expect_error([&] { MappedFile::open(folder / "none"); }, {"none", "No such file"});
  expect_error([&] { MappedFile::open(folder.path()); }, {"not a regular file", "a folder"});
  expect_error([&] { MappedFile::open("/dev/null"); }, {"/dev/null", "a special file"});
}

TEST(ReadTextFile, RefusesMoreThanTheLimit) {
  const TestFolder folder;
  const auto path = folder.write("a", "hello");
  EXPECT_EQ(read_text_file(path, 5), "hello");
  expect_error([&] { read_text_file(path, 4); }, {"too large", "at most 4 bytes", "found 5"});
}

TEST(FileExists, TakesWhatCannotBeLookedUpAsAbsent) {
  const TestFolder folder;
  EXPECT_TRUE(file_exists(folder.path()));
  EXPECT_FALSE(file_exists(folder / "none"));
  EXPECT_FALSE(file_exists(folder / std::string(5000, 'x')));
}

TEST(OutputFile, AppearsUnderItsNameOnlyWhenCommitted) {
  const TestFolder folder;
  OutputFile out(folder / "result");
  out.write("one ");
  out.write("two");
  EXPECT_EQ(out.size(), 7u);
  EXPECT_FALSE(file_exists(folder / "result"));
  out.commit();
  EXPECT_EQ(read_bytes(folder / "result"), "one two");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(OutputFile, WithoutACommitTheOldFileStaysAndNothingIsLeftBehind) {
  const TestFolder folder;
  folder.write("result", "old");
  {
    OutputFile(folder / "result").write("new");
  }
  EXPECT_EQ(read_bytes(folder / "result"), "old");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(OutputFile, AFailedCommitLeavesTheOldState) {
  const TestFolder folder;
  OutputFile out(folder / "result");
  out.write("new");
  // A folder that took the name in the meantime cannot be replaced by a file.
  std::filesystem::create_directory(folder / "result");
  folder.write("result/inside", "old");
  expect_error([&] { out.commit(); }, {"result", "cannot write"});
  EXPECT_EQ(read_bytes(folder / "result/inside"), "old");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(OutputFile, SaysWhyItCannotBeWritten) {
  const TestFolder folder;
  expect_error([&] { OutputFile(folder.path()); }, {"cannot write", "a folder"});
  expect_error([&] { OutputFile(folder / "no/such"); }, {"no/such", "No such file"});
}

TEST(OutputFile, AFullDiskIsAClearLineAndTheDeviceIsNotReplaced) {
  expect_error(
      [] {
        OutputFile out("/dev/full");
        out.write("anything");
      },
      {"/dev/full: cannot write the file", "No space left", "free some space"});
  struct stat info{};
  ASSERT_EQ(::stat("/dev/full", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(LfsPointer, IsRecognisedByItsFirstLine) {
  const std::string_view pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
  expect_error([&] { refuse_lfs_pointer(pointer, "model.safetensors"); },
               {"model.safetensors", "Git LFS pointer", "git lfs pull"});
  refuse_lfs_pointer(std::string_view("version 1"), "other");
}

}  // namespace
}  // namespace lathe
