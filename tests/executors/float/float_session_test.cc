#include "executors/float/float_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "executors/float/small_llama.h"

namespace lathe {
namespace {

TEST(FloatSession, RunsAgainWithOtherTokens) {
  FloatSession session(small_llama(), 2);
  SmallLlamaInputs inputs;
  std::vector<float> hidden(80 * 96);
  session.bind("tokens", inputs.tokens_view());
  session.bind("mask", inputs.mask_view());
  session.bind("hidden", dense_view(DType::f32, {1, 80, 96}, hidden.data()));
  session.run();
  const std::vector<float> first = hidden;

  const int32_t token = std::exchange(inputs.tokens.back(), 5);
  session.run();
  // The mask is causal: only the last position may have changed, and it has.
  const auto last = static_cast<std::ptrdiff_t>(79 * 96);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + last, hidden.begin()));
  EXPECT_FALSE(std::equal(first.begin() + last, first.end(), hidden.begin() + last));

  inputs.tokens.back() = token;
  session.run();
  EXPECT_EQ(hidden, first);
}

TEST(FloatSession, LogitsMayBeLeftOut) {
  FloatSession session(small_llama(), 2);
  SmallLlamaInputs inputs;
  std::vector<float> logits(80 * 700, 9.0f);
  const TensorView view = dense_view(DType::f32, {1, 80, 700}, logits.data());
  session.bind("tokens", inputs.tokens_view());
  session.bind("mask", inputs.mask_view());
  session.bind("logits", view);
  session.bind("logits", {});
  session.run();
  EXPECT_EQ(logits, std::vector<float>(80 * 700, 9.0f));
  session.bind("logits", view);
  session.run();
  EXPECT_NE(logits[0], 9.0f);
}

}  // namespace
}  // namespace lathe
