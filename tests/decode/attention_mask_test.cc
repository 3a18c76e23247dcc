#include "decode/attention_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "decode/fake_model.h"
#include "support/error.h"

namespace lathe {
namespace {

GraphIo io_of(DType mask_type, int64_t tokens_per_call) {
  test::FakeModel model;
  model.context = 8;
  model.wide_type = mask_type;
  return read_graph_io(model.contract(tokens_per_call));
}

/// One line a row: '#' attends, '.' is masked, '?' is neither.
std::string picture(const AttentionMask& mask, int32_t attend, int32_t masked) {
  const TensorView& view = mask.view();
  std::string out;
  for (int64_t row = 0; row < view.shape[2]; ++row) {
    for (int64_t column = 0; column < view.shape[3]; ++column) {
      const int32_t value = test::load(view, {0, 0, row, column});
      out += value == attend ? '#' : value == masked ? '.' : '?';
    }
    out += '\n';
  }
  return out;
}

// The past is on the left, the four new tokens are on the right.
TEST(AttentionMask, RowsAttendThePastAndTheNewTokensUpToThemselves) {
  AttentionMask mask(io_of(DType::u16, 4));
  EXPECT_EQ(picture(mask, 65535, 0),
            "....#...\n"
            "....##..\n"
            "....###.\n"
            "....####\n");
  mask.set_past(3);
  EXPECT_EQ(picture(mask, 65535, 0),
            "###.#...\n"
            "###.##..\n"
            "###.###.\n"
            "###.####\n");
}

TEST(AttentionMask, FollowsThePastForthAndBack) {
  AttentionMask mask(io_of(DType::u16, 1));
  const auto expect = [&](int64_t past, const std::string& row) {
    mask.set_past(past);
    EXPECT_EQ(picture(mask, 65535, 0), row + "\n");
  };
  expect(0, ".......#");
  expect(1, "#......#");
  expect(2, "##.....#");
  expect(7, "########");
  expect(3, "###....#");
  expect(0, ".......#");
}

TEST(AttentionMask, FloatGraphsGetWhatTheIntegersMean) {
  AttentionMask mask(io_of(DType::f32, 2));
  mask.set_past(5);
  EXPECT_EQ(picture(mask, 0, -255),
            "#####.#.\n"
            "#####.##\n");
}

TEST(AttentionMask, CodesComeFromTheEncoding) {
  GraphIo io = io_of(DType::u16, 2);
  io.mask = {DType::u8, 1.0f, 200};
  EXPECT_EQ(picture(AttentionMask(io), 200, 0),
            "......#.\n"
            "......##\n");
}

TEST(AttentionMask, RefusesAnEncodingThatCannotHideAToken) {
  GraphIo io = io_of(DType::u16, 1);
  for (const ValueFormat format : {ValueFormat{DType::u16, 1.0f, 103},  // -103 to 65432
                                   ValueFormat{DType::u16, 1.0f, 0},    // 0 to 65535
                                   ValueFormat{DType::u16, 10.0f / 65535, 65535}}) {  // -10 to 0
    io.mask = format;
    try {
      AttentionMask mask(io);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("attention_mask: encoding cannot hide a token"));
    }
  }
  io.mask = {DType::u16, 1.0f, 104};
  EXPECT_NO_THROW(AttentionMask{io});
}

}  // namespace
}  // namespace lathe
