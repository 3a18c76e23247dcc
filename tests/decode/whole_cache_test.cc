#include "decode/whole_cache.h"

#include <gtest/gtest.h>

#include "decode/fake_model.h"
#include "support/error.h"

namespace lathe {
namespace {

IoContract contract_of(DType cache_type) {
  test::FakeModel model;
  model.cache_style = CacheStyle::whole;
  model.cache_type = cache_type;
  return model.contract(1);
}

class WholeCacheTest : public testing::Test {
 protected:
  WholeCache cache_{read_graph_io(contract_of(DType::u8))};
};

TEST_F(WholeCacheTest, TensorsAreWholeAndDense) {
  ASSERT_EQ(cache_.held().size(), 2u);
  EXPECT_EQ(cache_.held()[0].keys.shape, (Shape{1, 2, 16, 4}));
  EXPECT_EQ(cache_.held()[0].values.shape, (Shape{1, 2, 16, 3}));
  EXPECT_EQ(cache_.held()[1].keys.shape, (Shape{1, 1, 16, 5}));
  EXPECT_EQ(cache_.returned()[1].values.shape, (Shape{1, 1, 16, 6}));
  EXPECT_TRUE(is_dense(cache_.held()[0].keys));
  EXPECT_TRUE(is_dense(cache_.returned()[0].values));
}

TEST_F(WholeCacheTest, WhatACallReturnedIsWhatTheNextIsGiven) {
  std::byte* const first = cache_.held()[0].keys.data;
  std::byte* const second = cache_.returned()[0].keys.data;
  EXPECT_NE(first, second);
  cache_.turn(3);
  EXPECT_EQ(cache_.length(), 3);
  EXPECT_EQ(cache_.held()[0].keys.data, second);
  EXPECT_EQ(cache_.returned()[0].keys.data, first);
  cache_.turn(1);
  EXPECT_EQ(cache_.length(), 4);
  EXPECT_EQ(cache_.held()[0].keys.data, first);
}

TEST_F(WholeCacheTest, TruncatingMovesNothing) {
  cache_.turn(9);
  std::byte* const held = cache_.held()[0].keys.data;
  cache_.truncate(2);
  EXPECT_EQ(cache_.length(), 2);
  EXPECT_EQ(cache_.held()[0].keys.data, held);
}

TEST_F(WholeCacheTest, BeginsAsRealZero) {
  for (const WholeCache::Layer& layer : cache_.held()) {
    for (int64_t i = 0; i < elements(layer.keys.shape); ++i) {
      EXPECT_EQ(layer.keys.as<uint8_t>()[i], 128);
    }
  }
  const WholeCache floats(read_graph_io(contract_of(DType::f32)));
  for (const WholeCache::Layer& layer : floats.held()) {
    for (int64_t i = 0; i < elements(layer.values.shape); ++i) {
      EXPECT_EQ(layer.values.as<float>()[i], 0.0f);
    }
  }
}

TEST(WholeCache, AnImpossibleSizeIsAnError) {
  IoContract contract = contract_of(DType::u8);
  for (IoTensor* tensor : {&contract.inputs[2], &contract.outputs[1]}) {
    tensor->shape[1] = int64_t{1} << 50;
  }
  EXPECT_THROW(WholeCache{read_graph_io(contract)}, Error);
}

}  // namespace
}  // namespace lathe
