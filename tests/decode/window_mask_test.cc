#include "decode/window_mask.h"

#include <gtest/gtest.h>

#include <string>

#include "decode/fake_model.h"

namespace lathe {
namespace {

GraphIo io_of(int64_t window, int64_t tokens_per_call) {
  test::FakeModel model;
  model.window = window;
  return read_graph_io(model.contract(tokens_per_call));
}

/// One line a row: '#' attends, '.' is masked, '|' is between the ring and the new tokens.
std::string picture(const WindowMask& mask) {
  const TensorView& view = mask.view();
  const int64_t slots = view.shape[3] - view.shape[2];
  std::string out;
  for (int64_t row = 0; row < view.shape[2]; ++row) {
    for (int64_t column = 0; column < view.shape[3]; ++column) {
      if (column == slots) out += '|';
      out += test::load(view, {0, 0, row, column}) == 65535 ? '#' : '.';
    }
    out += '\n';
  }
  return out;
}

TEST(WindowMask, ATokenAttendsItsWindowAndNoMore) {
  WindowMask mask(io_of(3, 4));
  EXPECT_EQ(picture(mask),
            "...|#...\n"
            "...|##..\n"
            "...|###.\n"
            "...|.###\n");
  mask.set_past(2);  // slots hold positions 0 and 1
  EXPECT_EQ(picture(mask),
            "##.|#...\n"
            ".#.|##..\n"
            "...|###.\n"
            "...|.###\n");
}

TEST(WindowMask, FollowsTheRing) {
  WindowMask mask(io_of(4, 1));
  const auto expect = [&](int64_t past, const std::string& row) {
    mask.set_past(past);
    EXPECT_EQ(picture(mask), row + "\n") << past;
  };
  expect(0, "....|#");
  expect(3, "###.|#");
  expect(4, ".###|#");  // position 0 is four behind
  expect(5, "#.##|#");  // 4 has taken its slot
  expect(8, ".###|#");
  expect(1, "#...|#");
}

// A graph of 4 tokens has 12 slots of the 14: until they are full, no window has moved.
TEST(WindowMask, AGraphMayHaveFewerSlotsThanTheRing) {
  WindowMask mask(io_of(14, 4));
  mask.set_past(12);
  EXPECT_EQ(picture(mask),
            "############|#...\n"
            "############|##..\n"
            ".###########|###.\n"
            "..##########|####\n");
}

}  // namespace
}  // namespace lathe
