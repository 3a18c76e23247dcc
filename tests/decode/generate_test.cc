#include "decode/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decode/fake_model.h"
#include "support/error.h"

namespace lathe {
namespace {

using test::FakeModel;
using test::FakeSessionLog;
using test::make_fake_session;

const std::vector<int64_t> kPrompt{3, 1, 4, 1, 5};

/// "a0", "b1", ... "f5", "a6", ...: no two of the 32 tokens are alike.
std::string token_text(int64_t id) {
  return std::string(1, static_cast<char>('a' + id % 6)) + std::to_string(id);
}

std::shared_ptr<const Tokenizer> tokenizer() {
  nlohmann::json vocab;
  for (int64_t id = 0; id < 32; ++id) vocab[token_text(id)] = id;
  const nlohmann::json json = {
      {"version", "1.0"},
      {"added_tokens", nlohmann::json::array()},
      {"decoder", {{"type", "Fuse"}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", token_text(0)}}}};
  return Tokenizer::from_json(json.dump(), "test");
}

class GenerateTest : public testing::Test {
 protected:
  GenerateResult run(const GenerateOptions& options, const SamplerOptions& sampling = {}) {
    Sampler sampler(sampling, model_.vocab);
    pieces_.clear();
    return generate(runner_, sampler, TextStream(tokenizer(), true), kPrompt, options,
                    [&](std::string_view piece) { pieces_.emplace_back(piece); });
  }

  /// What greedy generation gives after kPrompt, from the model's definition.
  std::vector<int64_t> expected_ids(int64_t count) const {
    std::vector<int64_t> ids = kPrompt;
    for (int64_t i = 0; i < count; ++i) ids.push_back(model_.greedy_after(ids));
    return {ids.begin() + std::ssize(kPrompt), ids.end()};
  }

  static std::string text_of(const std::vector<int64_t>& ids) {
    std::string text;
    for (const int64_t id : ids) text += token_text(id);
    return text;
  }

  std::string streamed() const {
    std::string text;
    for (const std::string& piece : pieces_) text += piece;
    return text;
  }

  const FakeModel model_;
  FakeSessionLog log_;
  Runner runner_{make_fake_session(model_.contract(1), &log_),
                 make_fake_session(model_.contract(4), &log_), RunMode::hybrid};
  std::vector<std::string> pieces_;
};

TEST_F(GenerateTest, StopsAfterTheNumberOfTokensAskedFor) {
  const GenerateResult result = run({.max_new_tokens = 4});
  EXPECT_EQ(result.ids, expected_ids(4));
  EXPECT_EQ(result.text, text_of(expected_ids(4)));
  EXPECT_EQ(streamed(), result.text);
  EXPECT_EQ(pieces_.size(), 4u);
  EXPECT_EQ(result.finish_reason, FinishReason::length);
  EXPECT_EQ(name_of(result.finish_reason), "length");
  EXPECT_EQ(result.stats.prompt_tokens, 5);
  EXPECT_EQ(result.stats.generated_tokens, 4);
  EXPECT_GE(result.stats.time_to_first_token, result.stats.prefill_seconds);
  EXPECT_EQ(runner_.position(), 8);  // the last id has not been run
}

// Prompt and output together fill the context and no more.
TEST_F(GenerateTest, StopsWhereTheContextIsFull) {
  const GenerateResult result = run({});
  EXPECT_EQ(std::ssize(result.ids), model_.context - std::ssize(kPrompt));
  EXPECT_EQ(result.ids, expected_ids(model_.context - std::ssize(kPrompt)));
  EXPECT_EQ(result.finish_reason, FinishReason::length);
}

TEST_F(GenerateTest, OneTokenFitsAfterAPromptOneShortOfTheContext) {
  Sampler sampler({}, model_.vocab);
  const std::vector<int64_t> prompt(15, 2);
  const GenerateResult result = generate(runner_, sampler, TextStream(tokenizer(), true), prompt,
                                         {.max_new_tokens = 10}, nullptr);
  EXPECT_EQ(result.ids, std::vector<int64_t>{model_.greedy_after(prompt)});
  EXPECT_EQ(result.finish_reason, FinishReason::length);
}

TEST_F(GenerateTest, APromptThatFillsTheContextLeavesNoRoom) {
  Sampler sampler({}, model_.vocab);
  const std::vector<int64_t> prompt(16, 2);
  const GenerateResult result =
      generate(runner_, sampler, TextStream(tokenizer(), true), prompt, {}, nullptr);
  EXPECT_TRUE(result.ids.empty());
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.finish_reason, FinishReason::length);
  EXPECT_EQ(result.stats.tokens_per_second(), 0.0);
}

TEST_F(GenerateTest, EndOfSequenceIsAnIdButNotText) {
  const std::vector<int64_t> expected = expected_ids(4);
  const GenerateResult result = run({.eos_ids = {model_.vocab, expected[3]}});  // each of several
  const auto first = std::find(expected.begin(), expected.end(), expected[3]);
  const std::vector<int64_t> until(expected.begin(), first + 1);
  EXPECT_EQ(result.ids, until);
  EXPECT_EQ(result.text, text_of({expected.begin(), first}));
  EXPECT_EQ(result.finish_reason, FinishReason::stop);
  EXPECT_EQ(name_of(result.finish_reason), "stop");
}

// The stop string begins inside the second token and ends inside the third.
TEST_F(GenerateTest, StopStringMayCrossTokens) {
  const std::vector<int64_t> ids = expected_ids(3);
  const std::string second = token_text(ids[1]);
  const std::string third = token_text(ids[2]);
  const GenerateResult result = run({.stop = {"nowhere", second.substr(1) + third.substr(0, 1)}});
  EXPECT_EQ(result.ids, ids);
  EXPECT_EQ(result.text, token_text(ids[0]) + second.substr(0, 1));
  EXPECT_EQ(streamed(), result.text);
  EXPECT_EQ(result.finish_reason, FinishReason::stop);
}

TEST_F(GenerateTest, HeldBackTextComesOutAtTheEnd) {
  const std::vector<int64_t> ids = expected_ids(2);
  const GenerateResult result =
      run({.max_new_tokens = 2, .stop = {token_text(ids[1]) + " never comes"}});
  EXPECT_EQ(result.text, text_of(ids));
  EXPECT_EQ(streamed(), result.text);
  EXPECT_EQ(result.finish_reason, FinishReason::length);
}

TEST_F(GenerateTest, ASeedRepeatsAText) {
  const SamplerOptions sampling{.temperature = 5.0f, .seed = 11};
  const GenerateResult first = run({}, sampling);
  runner_.reset();
  EXPECT_EQ(run({}, sampling).ids, first.ids);
  runner_.reset();
  EXPECT_NE(run({}, {.temperature = 5.0f, .seed = 12}).ids, first.ids);
}

// A penalty that no logit survives twice: nothing of the prompt or the output comes again.
TEST_F(GenerateTest, PenaltyCountsPromptAndOutput) {
  const GenerateResult result = run({}, {.repeat_penalty = 1e6f});
  std::vector<int64_t> all = result.ids;
  all.insert(all.end(), {1, 3, 4, 5});
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST_F(GenerateTest, RefusesBadInputBeforeRunning) {
  Sampler sampler({}, model_.vocab);
  const auto with = [&](const std::vector<int64_t>& prompt, const GenerateOptions& options) {
    generate(runner_, sampler, TextStream(tokenizer(), true), prompt, options, nullptr);
  };
  EXPECT_THROW(with({}, {}), Error);
  EXPECT_THROW(with(std::vector<int64_t>(17, 1), {}), Error);
  EXPECT_THROW(with(kPrompt, {.max_new_tokens = -1}), Error);
  EXPECT_THROW(with(kPrompt, {.stop = {""}}), Error);
  EXPECT_EQ(log_.runs, 0);
}

}  // namespace
}  // namespace lathe
