#include "executors/reference/strided_copy.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

namespace lathe {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> counting(size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

template <typename T>
std::vector<T> dense_copy(const TensorView& from) {
  std::vector<T> out(static_cast<size_t>(elements(from.shape)));
  StridedCopy(from, dense_view(from.dtype, from.shape, out.data())).copy();
  return out;
}

TEST(StridedCopy, ReadsAWindowOfALongerBuffer) {
  std::vector<float> buffer = counting<float>(12);  // [2, 6]
  TensorView window = dense_view(DType::f32, {2, 3}, buffer.data() + 1);
  window.strides = {6, 1};
  EXPECT_THAT(dense_copy<float>(window), ElementsAre(1, 2, 3, 7, 8, 9));
}

TEST(StridedCopy, WritesIntoAWindow) {
  std::vector<uint8_t> buffer(8, 99);
  std::vector<uint8_t> source{1, 2, 3, 4};
  TensorView window = dense_view(DType::u8, {2, 2}, buffer.data() + 2);
  window.strides = {4, 1};
  StridedCopy(dense_view(DType::u8, {2, 2}, source.data()), window).copy();
  EXPECT_THAT(buffer, ElementsAre(99, 99, 1, 2, 99, 99, 3, 4));
}

TEST(StridedCopy, TransposesEveryElementSize) {
  const auto check = [](DType dtype, auto zero) {
    auto values = counting<decltype(zero)>(6);  // [2, 3]
    TensorView view = dense_view(dtype, {3, 2}, values.data());
    view.strides = {1, 3};
    EXPECT_THAT(dense_copy<decltype(zero)>(view), ElementsAre(0, 3, 1, 4, 2, 5));
  };
  check(DType::u8, uint8_t{});
  check(DType::u16, uint16_t{});
  check(DType::i32, int32_t{});
  check(DType::i64, int64_t{});
}

TEST(StridedCopy, StrideZeroRepeats) {
  std::vector<uint16_t> values{7, 8};
  TensorView view = dense_view(DType::u16, {2, 3}, values.data());
  view.strides = {1, 0};
  EXPECT_THAT(dense_copy<uint16_t>(view), ElementsAre(7, 7, 7, 8, 8, 8));
}

TEST(StridedCopy, RangesOfRowsMakeUpTheWhole) {
  std::vector<float> values = counting<float>(24);  // [2, 3, 4] read as [2, 4, 3]
  TensorView view = dense_view(DType::f32, {2, 4, 3}, values.data());
  view.strides = {12, 1, 4};
  std::vector<float> out(24);
  const StridedCopy copy(view, dense_view(DType::f32, view.shape, out.data()));
  ASSERT_EQ(copy.rows(), 8);
  for (int64_t row = 0; row < copy.rows(); row += 3) {
    copy.copy_rows(row, std::min(row + 3, copy.rows()));
  }
  EXPECT_EQ(out, dense_copy<float>(view));
}

TEST(StridedCopy, DenseTensorsAreOneRow) {
  std::vector<float> values = counting<float>(24);
  std::vector<float> out(24);
  const StridedCopy copy(dense_view(DType::f32, {2, 3, 4}, values.data()),
                         dense_view(DType::f32, {2, 3, 4}, out.data()));
  EXPECT_EQ(copy.rows(), 1);
  copy.copy();
  EXPECT_EQ(out, values);
}

TEST(StridedCopy, ScalarsAndEmptyTensors) {
  std::vector<float> one{5.0f};
  EXPECT_THAT(dense_copy<float>(dense_view(DType::f32, {}, one.data())), ElementsAre(5.0f));
  EXPECT_THAT(dense_copy<float>(dense_view(DType::f32, {3, 0}, nullptr)), ElementsAre());
  EXPECT_THAT(dense_copy<float>(dense_view(DType::f32, {0, 3}, nullptr)), ElementsAre());
}

}  // namespace
}  // namespace lathe
