#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "executors/cpu/code_graph.h"
#include "executors/cpu/decoder_graph.h"
#include "executors/cpu/session.h"

namespace lathe {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

/// 10 log10 of the power of `expected` (u16 codes around 32768) over that of the difference.
double sqnr(const std::vector<std::byte>& found, const std::vector<std::byte>& expected) {
  const auto* x = reinterpret_cast<const uint16_t*>(found.data());
  const auto* y = reinterpret_cast<const uint16_t*>(expected.data());
  double signal = 0.0;
  double noise = 1e-9;
  for (size_t i = 0; i < expected.size() / 2; ++i) {
    signal += std::pow(y[i] - 32768.0, 2.0);
    noise += std::pow(static_cast<double>(x[i]) - y[i], 2.0);
  }
  return 10.0 * std::log10(signal / noise);
}

TEST(CpuDecoder, IsTheStepsThatItWasPlannedFor) {
  const CodeGraph token(decoder(1, 40));
  EXPECT_THAT(step_names(token.graph()),
              ElementsAre("embedding", "embedding", "embedding",
                          "rms_norm+linear+requantize",  // query, key and value; v_new
                          "rope", "rope",                // query, k_new
                          "mask_columns", "attention",
                          "linear+add",                // residual
                          "rms_norm+linear+silu_mul",  // gate and up
                          "linear+add", "rms_norm+linear"));
}

TEST(CpuDecoder, CopiesNothingButWhatTheCallerWantsInAnotherOrder) {
  const CodeGraph chunk(decoder(4, 40));
  EXPECT_THAT(step_names(chunk.graph()),
              ElementsAre("embedding", "embedding", "embedding", "rms_norm+linear+requantize",
                          "copy",                  // v_new [1, Hkv, AR, D]
                          "rope", "rope", "copy",  // k_new [1, Hkv, D, AR]
                          "mask_columns", "attention", "linear+add", "rms_norm+linear+silu_mul",
                          "linear+add", "rms_norm+linear"));
}

TEST(CpuDecoder, IsWithinTheToleranceOfTheReference) {
  for (const auto& [rows, context] : {std::pair{1, 40}, {4, 40}, {40, 97}, {12, 12}}) {
    CodeGraph graph(decoder(rows, context));
    EXPECT_THAT(step_names(graph.graph()), Not(Contains("reference")));
    const Results expected = graph.run_reference();
    const Results found = run_everywhere(graph);
    EXPECT_GE(sqnr(found.at("logits"), expected.at("logits")), 50.0) << rows << " of " << context;
    EXPECT_LE(code_difference(graph.graph(), "k_new_0", found, expected), 1);
    EXPECT_LE(code_difference(graph.graph(), "v_new_0", found, expected), 1);
  }
}

TEST(CpuDecoder, LogitsThatNobodyWantsAreNotComputed) {
  CodeGraph graph(decoder(4, 40));
  const auto session = make_cpu_session(graph.graph(), team_of(2));
  const Results all = graph.run(*session);

  Results wanted = all;
  for (auto& [name, bytes] : wanted) std::fill(bytes.begin(), bytes.end(), std::byte{0x77});
  const auto bind = [&](const char* name, DType dtype, Shape shape, bool bound) {
    session->bind(name,
                  dense_view(dtype, std::move(shape), bound ? wanted.at(name).data() : nullptr));
  };
  bind("k_new_0", DType::u8, {1, 2, 16, 4}, true);
  bind("v_new_0", DType::u8, {1, 2, 4, 16}, true);
  bind("logits", DType::u16, {1, 4, 300}, true);
  bind("logits", DType::u16, {1, 4, 300}, false);
  session->run();
  EXPECT_EQ(wanted.at("k_new_0"), all.at("k_new_0"));
  EXPECT_EQ(wanted.at("v_new_0"), all.at("v_new_0"));
  EXPECT_THAT(wanted.at("logits"), testing::Each(std::byte{0x77}));

  bind("logits", DType::u16, {1, 4, 300}, true);
  session->run();
  EXPECT_EQ(wanted, all);
}

TEST(CpuDecoder, TokensThatCountAreWhatTheyAreInAWholeCall) {
  CodeGraph graph(decoder(4, 40));
  std::vector<uint16_t> mask(4 * 40, 0);
  for (size_t row = 0; row < 4; ++row) {
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(row * 40), 10, uint16_t{65535});
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(row * 40 + 36), row + 1,
                uint16_t{65535});
  }
  graph.set_input("attention_mask", mask);
  const auto session = make_cpu_session(graph.graph(), team_of(2));
  const Results all = graph.run(*session);

  std::vector<std::byte> logits(4 * 300 * 2, std::byte{0x77});
  std::vector<std::byte> values(all.at("v_new_0").size());
  session->bind("logits", dense_view(DType::u16, {1, 4, 300}, logits.data()));
  session->bind("v_new_0", dense_view(DType::u8, {1, 2, 4, 16}, values.data()));
  session->want(2, 1);
  session->run();
  const auto part = [](const std::vector<std::byte>& bytes, size_t begin, size_t count) {
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
    return std::vector<std::byte>(from, from + static_cast<std::ptrdiff_t>(count));
  };
  constexpr size_t kRow = 300 * 2;
  EXPECT_EQ(part(logits, kRow, kRow), part(all.at("logits"), kRow, kRow));
  EXPECT_THAT(part(logits, 0, kRow), testing::Each(std::byte{0x77}));
  EXPECT_THAT(part(logits, 2 * kRow, 2 * kRow), testing::Each(std::byte{0x77}));
  for (const size_t head : {0, 4 * 16}) {
    EXPECT_EQ(part(values, head, 2 * 16), part(all.at("v_new_0"), head, 2 * 16));
  }
}

}  // namespace
}  // namespace lathe
