#include "decode/pair_cache.h"

#include <gtest/gtest.h>

#include "decode/fake_model.h"
#include "support/error.h"

namespace lathe {
namespace {

using test::load;

/// Fills the pairs so that each element tells its head, dimension and token.
void number(const NewPairs& pairs, int32_t base) {
  for (const auto& [key, value] : pairs.layers()) {
    auto* keys = key.as<uint8_t>();
    auto* values = value.as<uint8_t>();
    for (int64_t h = 0; h < key.shape[1]; ++h) {
      for (int64_t d = 0; d < key.shape[2]; ++d) {
        for (int64_t t = 0; t < key.shape[3]; ++t) {
          *keys++ = static_cast<uint8_t>(base + 100 * h + 10 * d + t);
        }
      }
    }
    for (int64_t h = 0; h < value.shape[1]; ++h) {
      for (int64_t t = 0; t < value.shape[2]; ++t) {
        for (int64_t d = 0; d < value.shape[3]; ++d) {
          *values++ = static_cast<uint8_t>(base + 100 * h + 10 * d + t);
        }
      }
    }
  }
}

class PairCacheTest : public testing::Test {
 protected:
  /// Expects that a slot of every layer holds token `t` of what number(pairs, base) wrote.
  void expect_token(int64_t slot, int32_t base, int32_t t) const {
    for_each_element(slot, [&](int64_t h, int64_t d, int32_t code) {
      EXPECT_EQ(code, (base + 100 * h + 10 * d + t) & 0xFF);
    });
  }

  void expect_zero(int64_t slot) const {
    for_each_element(slot, [](int64_t, int64_t, int32_t code) { EXPECT_EQ(code, 128); });
  }

  template <typename Job>
  void for_each_element(int64_t slot, const Job& job) const {
    for (size_t layer = 0; layer < prefill_io_.layers.size(); ++layer) {
      const TensorView keys = cache_.key_window(layer, 16, 16);
      for (int64_t h = 0; h < keys.shape[1]; ++h) {
        for (int64_t d = 0; d < keys.shape[2]; ++d) job(h, d, load(keys, {0, h, d, slot}));
      }
      const TensorView values = cache_.value_window(layer, 16, 16);
      for (int64_t h = 0; h < values.shape[1]; ++h) {
        for (int64_t d = 0; d < values.shape[3]; ++d) job(h, d, load(values, {0, h, slot, d}));
      }
    }
  }

  const GraphIo prefill_io_ = read_graph_io(test::FakeModel{}.contract(4));
  const GraphIo decode_io_ = read_graph_io(test::FakeModel{}.contract(1));
  PairCache cache_{decode_io_};
  NewPairs chunk_{prefill_io_};
  NewPairs single_{decode_io_};
};

TEST_F(PairCacheTest, BeginsWithRealZeroEverywhere) {
  EXPECT_EQ(cache_.length(), 0);
  for (int64_t slot = 0; slot < 16; ++slot) expect_zero(slot);
}

TEST_F(PairCacheTest, BuffersBeginOnACacheLine) {
  for (size_t layer = 0; layer < 2; ++layer) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(cache_.key_window(layer, 15, 16).data) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(cache_.value_window(layer, 15, 16).data) % 64, 0u);
  }
}

TEST_F(PairCacheTest, WindowsOfEveryWidthShareOneBuffer) {
  const TensorView wide = cache_.key_window(0, 15, 16);
  const TensorView narrow = cache_.key_window(0, 12, 16);
  EXPECT_EQ(wide.shape, (Shape{1, 2, 4, 15}));
  EXPECT_EQ(narrow.shape, (Shape{1, 2, 4, 12}));
  EXPECT_EQ(wide.strides, narrow.strides);
  EXPECT_EQ(wide.strides, (Shape{128, 64, 16, 1}));
  EXPECT_EQ(wide.data, narrow.data);

  const TensorView values = cache_.value_window(1, 12, 16);
  EXPECT_EQ(values.shape, (Shape{1, 1, 12, 6}));
  EXPECT_EQ(values.strides, (Shape{96, 96, 6, 1}));
}

TEST_F(PairCacheTest, ASessionThatWantsItDenseFindsNoGaps) {
  EXPECT_EQ(cache_.key_window(0, 12, 12).strides, (Shape{96, 48, 12, 1}));
  EXPECT_EQ(cache_.value_window(1, 12, 12).strides, (Shape{72, 72, 6, 1}));
}

TEST_F(PairCacheTest, ArrangingKeepsTokensAndZeros) {
  number(chunk_, 0);
  cache_.append(chunk_, 4);
  for (const int64_t stride : {12, 15, 4, 5, 16}) {
    cache_.arrange(stride);
    number(single_, 50);
    const bool fits = stride == 5;
    if (fits) cache_.append(single_, 1);
    cache_.arrange(16);
    for (int32_t t = 0; t < 4; ++t) expect_token(t, 0, t);
    for (int64_t slot = cache_.length(); slot < 16; ++slot) expect_zero(slot);
    if (fits) expect_token(4, 50, 0);
    cache_.truncate(4);
  }
}

TEST_F(PairCacheTest, TheLastTokensLeaveADenseGraphsSlots) {
  for (int32_t i = 0; i < 3; ++i) {
    cache_.arrange(12);
    number(chunk_, i);
    cache_.append(chunk_, 4);
  }
  cache_.arrange(12);
  number(chunk_, 3);
  cache_.append(chunk_, 4);
  EXPECT_EQ(cache_.length(), cache_.context());
  for (int32_t slot = 0; slot < 16; ++slot) expect_token(slot, slot / 4, slot % 4);
}

TEST_F(PairCacheTest, AppendsTheFirstTokensOfACall) {
  number(chunk_, 0);
  cache_.append(chunk_, 4);
  number(chunk_, 7);
  cache_.append(chunk_, 2);  // the other two were filled up
  number(single_, 50);
  cache_.append(single_, 1);

  EXPECT_EQ(cache_.length(), 7);
  for (int32_t t = 0; t < 4; ++t) expect_token(t, 0, t);
  for (int32_t t = 0; t < 2; ++t) expect_token(4 + t, 7, t);
  expect_token(6, 50, 0);
  for (int64_t slot = 7; slot < 16; ++slot) expect_zero(slot);
}

TEST_F(PairCacheTest, FillsToTheLastSlot) {
  for (int32_t i = 0; i < 4; ++i) {
    number(chunk_, i);
    cache_.append(chunk_, 4);
  }
  EXPECT_EQ(cache_.length(), cache_.context());
  for (int32_t slot = 0; slot < 16; ++slot) expect_token(slot, slot / 4, slot % 4);
}

TEST_F(PairCacheTest, TruncatingPutsZeroBack) {
  number(chunk_, 3);
  cache_.append(chunk_, 4);
  cache_.append(chunk_, 4);
  cache_.truncate(2);
  EXPECT_EQ(cache_.length(), 2);
  for (int32_t t = 0; t < 2; ++t) expect_token(t, 3, t);
  for (int64_t slot = 2; slot < 16; ++slot) expect_zero(slot);
  cache_.truncate(0);
  for (int64_t slot = 0; slot < 16; ++slot) expect_zero(slot);
}

// Layer 1 has a ring of 6 slots.
TEST(PairCache, ARingHoldsTheLastTokens) {
  test::FakeModel model;
  model.window = 6;
  const GraphIo io = read_graph_io(model.contract(4));
  PairCache cache(read_graph_io(model.contract(1)));
  NewPairs chunk(io);
  const auto keys = [&] {
    const TensorView view = cache.key_window(1, 6, 16);
    std::vector<int32_t> codes;
    for (int64_t slot = 0; slot < 6; ++slot) codes.push_back(load(view, {0, 0, 0, slot}));
    return codes;
  };
  for (const int32_t base : {10, 20}) {
    number(chunk, base);
    cache.append(chunk, 4);
  }
  EXPECT_EQ(keys(), (std::vector<int32_t>{22, 23, 12, 13, 20, 21}));
  EXPECT_TRUE(cache.can_truncate(8));
  EXPECT_TRUE(cache.can_truncate(7));
  EXPECT_FALSE(cache.can_truncate(6));
  cache.truncate(7);
  EXPECT_EQ(keys(), (std::vector<int32_t>{22, 128, 12, 13, 20, 21}));
  EXPECT_FALSE(cache.can_truncate(6));
  EXPECT_TRUE(cache.can_truncate(0));
  cache.truncate(0);
  EXPECT_EQ(keys(), std::vector<int32_t>(6, 128));
  EXPECT_EQ(cache.key_window(0, 15, 16).strides[2], 16);
  EXPECT_EQ(cache.key_window(1, 6, 16).strides[2], 6);
}

TEST(PairCache, ARingThatIsNotFullGoesBack) {
  test::FakeModel model;
  model.window = 6;
  PairCache cache(read_graph_io(model.contract(1)));
  NewPairs chunk(read_graph_io(model.contract(4)));
  number(chunk, 10);
  cache.append(chunk, 4);
  EXPECT_TRUE(cache.can_truncate(1));
  cache.truncate(1);
  const TensorView view = cache.key_window(1, 6, 16);
  EXPECT_EQ(load(view, {0, 0, 0, 0}), 10);
  EXPECT_EQ(load(view, {0, 0, 0, 1}), 128);
}

TEST(PairCache, FloatSlotsBeginAsZero) {
  test::FakeModel model;
  model.cache_type = DType::f32;
  const PairCache cache(read_graph_io(model.contract(1)));
  const TensorView keys = cache.key_window(0, 16, 16);
  for (int64_t i = 0; i < 2 * 4 * 16; ++i) EXPECT_EQ(keys.as<float>()[i], 0.0f);
}

TEST(PairCache, AnImpossibleSizeIsAnError) {
  IoContract contract = test::FakeModel{}.contract(1);
  for (IoTensor* tensor : {&contract.outputs[1], &contract.inputs[3]}) {
    tensor->shape[1] = int64_t{1} << 50;
  }
  EXPECT_THROW(PairCache{read_graph_io(contract)}, Error);
}

}  // namespace
}  // namespace lathe
