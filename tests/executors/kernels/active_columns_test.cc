#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

using Ranges = std::vector<ColumnRange>;

/// '#' attends, '.' is masked out; one string a row.
Ranges ranges_of(const std::vector<std::string>& rows, int64_t capacity = 4) {
  const size_t columns = rows.front().size();
  std::vector<uint16_t> mask;
  for (const std::string& row : rows) {
    for (const char c : row) mask.push_back(c == '#' ? 65535 : 0);
  }
  Ranges ranges(static_cast<size_t>(capacity));
  ranges.resize(static_cast<size_t>(
      active_columns(mask.data(), static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns),
                     static_cast<int64_t>(columns), ranges.data(), capacity)));
  return ranges;
}

const std::string kGap(40, '.');

TEST(ActiveColumnsTest, PastAndNewTokensAreTwoRanges) {
  EXPECT_EQ(ranges_of({"###" + kGap + "#"}), (Ranges{{0, 3}, {43, 44}}));
}

TEST(ActiveColumnsTest, AnyRowThatAttendsCounts) {
  EXPECT_EQ(ranges_of({kGap + "#...", kGap + "##..", kGap + "###."}), (Ranges{{40, 43}}));
}

TEST(ActiveColumnsTest, ShortGapsAreClosed) {
  EXPECT_EQ(ranges_of({"#...#..#"}), (Ranges{{0, 8}}));
}

TEST(ActiveColumnsTest, TheLastRangeTakesWhatDoesNotFit) {
  EXPECT_EQ(ranges_of({"#" + kGap + "#" + kGap + "#" + kGap + "#"}, 2),
            (Ranges{{0, 1}, {41, 124}}));
}

TEST(ActiveColumnsTest, NothingActiveIsNoRange) { EXPECT_EQ(ranges_of({kGap}), Ranges{}); }

}  // namespace
}  // namespace lathe
