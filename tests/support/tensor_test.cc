#include "support/tensor.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lathe {
namespace {

TEST(Shape, PrintsAndCounts) {
  EXPECT_EQ(to_string(Shape{1, 9, 64}), "[1, 9, 64]");
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(elements({2, 3, 4}), 24);
  EXPECT_EQ(elements({}), 1);
}

TEST(Shape, RefusesWhatOverflows) {
  EXPECT_EQ(checked_elements({int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  EXPECT_EQ(checked_elements({int64_t{1} << 32, int64_t{1} << 31}), -1);
  EXPECT_EQ(checked_elements({-1}), -1);
  EXPECT_EQ(checked_elements({0, int64_t{1} << 62}), 0);
}

TEST(DType, NamesRoundTrip) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u16,
                            DType::i16, DType::u8, DType::i8, DType::i4, DType::boolean}) {
    EXPECT_EQ(dtype_from_name(name_of(dtype), "here"), dtype);
  }
  testing::expect_error([] { dtype_from_name("f7", "model.lathe: x"); },
                        {"model.lathe: x", "unknown element type", "f7"});
}

TEST(DType, FourBitTensorsTakeHalfTheBytesRoundedUp) {
  EXPECT_EQ(byte_size(DType::i4, {3}), 2);
  EXPECT_EQ(byte_size(DType::bf16, {3, 5}), 30);
}

TEST(TensorView, KnowsWhetherItIsDense) {
  float data[6] = {};
  TensorView view = dense_view(DType::f32, {2, 3}, data);
  EXPECT_EQ(view.strides, (Shape{3, 1}));
  EXPECT_TRUE(is_dense(view));
  view.strides = {1, 2};
  EXPECT_FALSE(is_dense(view));
  view.shape = {1, 3};
  view.strides = {99, 1};  // the stride of a dimension of one element does not matter
  EXPECT_TRUE(is_dense(view));
}

}  // namespace
}  // namespace lathe
