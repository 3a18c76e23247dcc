#include "graph/packed_weights.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace lathe {
namespace {

TEST(PackedWeightsTest, LiesInGroupsOf16ChannelsByFour) {
  // Channel c, element i holds 5 c + i, for 17 channels of 5.
  std::vector<int8_t> weights;
  for (int c = 0; c < 17; ++c) {
    for (int i = 0; i < 5; ++i) weights.push_back(static_cast<int8_t>(c * 5 + i));
  }
  ASSERT_EQ(packed_weights_bytes(17, 5), 2u * 2 * 64);
  std::vector<int8_t> packed(256, 99);
  pack_weights(weights.data(), 17, 5, packed.data());
  EXPECT_EQ(packed[0], 0);
  EXPECT_EQ(packed[3], 3) << "channel 0, element 3";
  EXPECT_EQ(packed[4], 5) << "channel 1, element 0";
  EXPECT_EQ(packed[64], 4) << "channel 0, element 4: the next block";
  EXPECT_EQ(packed[65], 0) << "padding of k";
  EXPECT_EQ(packed[128], 80) << "channel 16: the next group";
  EXPECT_EQ(packed[132], 0) << "padding of channels";
}

TEST(PackedWeightsTest, UnpacksToWhatWasPackedAndSums) {
  for (const int64_t channels : {1, 16, 33}) {
    for (const int64_t k : {1, 4, 7, 64}) {
      std::vector<int8_t> weights(static_cast<size_t>(channels * k));
      for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127);
      }
      std::vector<int8_t> packed(packed_weights_bytes(channels, k));
      pack_weights(weights.data(), channels, k, packed.data());
      std::vector<int8_t> back(weights.size());
      unpack_weights(packed.data(), channels, k, back.data());
      EXPECT_EQ(back, weights);

      std::vector<int32_t> sums(static_cast<size_t>(channels));
      sum_packed_weights(packed.data(), channels, k, sums.data());
      for (int64_t c = 0; c < channels; ++c) {
        int32_t expected = 0;
        for (int64_t i = 0; i < k; ++i) expected += weights[static_cast<size_t>(c * k + i)];
        EXPECT_EQ(sums[static_cast<size_t>(c)], expected);
      }
    }
  }
}

}  // namespace
}  // namespace lathe
