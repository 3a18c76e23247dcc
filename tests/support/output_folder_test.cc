#include "support/output_folder.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::TestFolder;
namespace fs = std::filesystem;

constexpr const char* kMark = "mark.json";

void fill(const OutputFolder& out, std::string_view text) {
  std::ofstream(out.path() / kMark) << text;
}

size_t count_files(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(OutputFolder, AppearsUnderItsNameOnlyWhenCommitted) {
  const TestFolder folder;
  {
    OutputFolder out(folder / "result", kMark);
    fill(out, "new");
    EXPECT_FALSE(fs::exists(folder / "result"));
    out.commit();
  }
  EXPECT_EQ(testing::read_bytes(folder / "result" / kMark), "new");
  EXPECT_EQ(count_files(folder.path()), 1u);
}

TEST(OutputFolder, ReplacesWhatAnEarlierRunWrote) {
  const TestFolder folder;
  for (const char* text : {"first", "second"}) {
    OutputFolder out(folder.path() / "result/", kMark);
    fill(out, text);
    out.commit();
  }
  EXPECT_EQ(testing::read_bytes(folder / "result" / kMark), "second");
  EXPECT_EQ(count_files(folder.path()), 1u);
}

TEST(OutputFolder, WithoutACommitTheOldFolderStaysAndNothingIsLeftBehind) {
  const TestFolder folder;
  {
    OutputFolder out(folder / "result", kMark);
    fill(out, "old");
    out.commit();
  }
  fill(OutputFolder(folder / "result", kMark), "new");
  EXPECT_EQ(testing::read_bytes(folder / "result" / kMark), "old");
  EXPECT_EQ(count_files(folder.path()), 1u);
}

TEST(OutputFolder, LeavesOtherFilesAlone) {
  const TestFolder folder;
  folder.write("letter.txt", "dear");
  testing::expect_error([&] { OutputFolder(folder.path(), kMark); }, {"other files", kMark});
  testing::expect_error([&] { OutputFolder(folder / "letter.txt", kMark); }, {"a file"});
  testing::expect_error([&] { OutputFolder(folder / "no/such", kMark); }, {"No such file"});
  EXPECT_EQ(count_files(folder.path()), 1u);
}

}  // namespace
}  // namespace lathe
