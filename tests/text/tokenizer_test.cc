#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/error.h"
#include "text/tokenizer_cases.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Ids = std::vector<int64_t>;

/// Each case of each tokenizer, against Hugging Face's own ids and texts.
class HuggingFaceCases : public ::testing::TestWithParam<std::string> {};

TEST_P(HuggingFaceCases, IdsTextsAndStreamsAreThoseOfHuggingFace) {
  expect_cases_hold(load_cases(GetParam()));
}

TEST_P(HuggingFaceCases, TextWithoutControlTokensHasTheSameIdsAsText) {
  const auto [tokenizer, golden] = load_cases(GetParam());
  for (const auto& item : golden.at("cases")) {
    const auto text = item.at("text").get<std::string>();
    const bool spells = std::any_of(
        tokenizer->special_tokens().begin(), tokenizer->special_tokens().end(),
        [&](const std::string& special) { return text.find(special) != std::string::npos; });
    if (spells) continue;
    EXPECT_EQ(tokenizer->encode(text, true, Tokenizer::Specials::as_text),
              item.at("ids_with_special").get<Ids>())
        << text;
    EXPECT_EQ(tokenizer->encode_marked(text, U'\uFDD0'), item.at("ids").get<Ids>()) << text;
  }
}

TEST_P(HuggingFaceCases, NoControlTokenComesFromTextTakenAsText) {
  const auto [tokenizer, golden] = load_cases(GetParam());
  std::string all = "x";
  for (const std::string& special : tokenizer->special_tokens()) all += special + " " + special;
  const Ids ids = tokenizer->encode(all, false, Tokenizer::Specials::as_text);
  for (const int64_t id : ids) EXPECT_NE(tokenizer->kind_of(id), Tokenizer::Kind::special) << id;
  EXPECT_EQ(tokenizer->decode(ids, false), all);
}

INSTANTIATE_TEST_SUITE_P(All, HuggingFaceCases, ::testing::ValuesIn(tokenizer_names()),
                         [](const auto& info) { return info.param; });

TEST(Tokenizer, ControlTokensAreParsedOnlyWhereAskedFor) {
  const auto tokenizer = load_cases("tiny_qwen2").tokenizer;
  const int64_t start = tokenizer->id_of("<|im_start|>").value();
  EXPECT_EQ(start, 382);
  EXPECT_EQ(tokenizer->encode("<|im_start|>", false), Ids{start});
  const Ids as_text = tokenizer->encode("<|im_start|>", false, Tokenizer::Specials::as_text);
  EXPECT_THAT(as_text, Not(::testing::Contains(start)));
  EXPECT_EQ(tokenizer->decode(as_text, false), "<|im_start|>");
}

// As Hugging Face's tokenizers do: the text's own BOS and the tokenizer's.
TEST(Tokenizer, BosIsAddedEvenWhereTheTextHasIt) {
  const auto tokenizer = load_cases("tiny_llama").tokenizer;
  const Ids ids = tokenizer->encode("<|begin_of_text|>Hello", true);
  ASSERT_GE(ids.size(), 3u);
  EXPECT_EQ(ids[0], 378);
  EXPECT_EQ(ids[1], 378);
  EXPECT_NE(ids[2], 378);
}

TEST(Tokenizer, TellsWhatItAddsByItself) {
  EXPECT_THAT(load_cases("tiny_llama").tokenizer->prefix(), ElementsAre(378));
  EXPECT_THAT(load_cases("llama2_legacy").tokenizer->prefix(), ElementsAre(1));
  EXPECT_THAT(load_cases("tiny_qwen2").tokenizer->prefix(), ElementsAre());
  EXPECT_THAT(load_cases("tiny_llama").tokenizer->suffix(), ElementsAre());
}

TEST(Tokenizer, TellsWhatAnIdIs) {
  const auto tokenizer = load_cases("llama2_legacy").tokenizer;
  EXPECT_EQ(tokenizer->kind_of(1), Tokenizer::Kind::special);
  EXPECT_EQ(tokenizer->kind_of(tokenizer->id_of("<0xE2>").value()), Tokenizer::Kind::byte);
  EXPECT_EQ(tokenizer->kind_of(29871), Tokenizer::Kind::text);
  EXPECT_EQ(tokenizer->kind_of(32000), Tokenizer::Kind::absent);
  EXPECT_EQ(tokenizer->kind_of(-1), Tokenizer::Kind::absent);
  EXPECT_EQ(tokenizer->kind_of(int64_t{1} << 32), Tokenizer::Kind::absent);
  EXPECT_EQ(tokenizer->id_of("no such token"), std::nullopt);
}

TEST(Tokenizer, AnIdOutsideTheVocabularyIsAnErrorThatNamesIt) {
  const auto tokenizer = load_cases("tiny_llama").tokenizer;
  for (const int64_t id : {int64_t{384}, int64_t{-1}, int64_t{1} << 40}) {
    try {
      tokenizer->decode(Ids{0, id}, false);
      ADD_FAILURE() << "decoded " << id;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("token id is not in the vocabulary"));
      EXPECT_THAT(error.what(), HasSubstr(std::to_string(id)));
    }
  }
}

TEST(Tokenizer, TextMayHoldNul) {
  const auto tokenizer = load_cases("tiny_smollm3").tokenizer;
  const std::string text("a\0b", 3);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, false), false), text);
}

}  // namespace
}  // namespace lathe
