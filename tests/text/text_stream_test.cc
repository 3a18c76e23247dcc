#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/error.h"
#include "text/tokenizer.h"
#include "text/tokenizer_cases.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using Ids = std::vector<int64_t>;

std::vector<std::string> pieces(TextStream& stream, const Ids& ids) {
  std::vector<std::string> pieces;
  for (const int64_t id : ids) pieces.push_back(stream.push(id));
  return pieces;
}

class AnyTokenizer : public ::testing::TestWithParam<std::string> {};

TEST_P(AnyTokenizer, PiecesOfAnyIdsAddUpToTheirText) {
  const auto tokenizer = load_cases(GetParam()).tokenizer;
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> any(0, tokenizer->vocab_size() - 1);
  for (int run = 0; run < 40; ++run) {
    Ids ids(60);
    for (int64_t& id : ids) id = any(random);
    for (const bool skip : {false, true}) {
      EXPECT_EQ(streamed(tokenizer, ids, skip), tokenizer->decode(ids, skip));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AnyTokenizer, ::testing::ValuesIn(tokenizer_names()),
                         [](const auto& info) { return info.param; });

// The bytes of an emoji come one by one from a byte-level tokenizer of 384 tokens.
TEST(TextStream, ACharacterIsGivenOutWithItsLastByte) {
  const auto tokenizer = load_cases("tiny_llama").tokenizer;
  const Ids ids = tokenizer->encode("😀😀", false);
  ASSERT_EQ(ids.size(), 8u);
  TextStream stream(tokenizer, false);
  EXPECT_THAT(pieces(stream, ids), ElementsAre("", "", "", "😀", "", "", "", "😀"));
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, ACharacterThatNeverEndsIsReplacedAtTheEnd) {
  const auto tokenizer = load_cases("tiny_llama").tokenizer;
  Ids ids = tokenizer->encode("a😀", false);
  ids.pop_back();
  TextStream stream(tokenizer, false);
  EXPECT_THAT(pieces(stream, ids), ElementsAre("a", "", "", ""));
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, ByteTokensAreHeldUntilTheirRunEnds) {
  const auto tokenizer = load_cases("llama2_legacy").tokenizer;
  const auto byte = [&](const char* token) { return tokenizer->id_of(token).value(); };
  const int64_t word = tokenizer->id_of("▁word").value();
  const Ids ids = {word, byte("<0xF0>"), byte("<0x9F>"), byte("<0x98>"), byte("<0x80>"), word};
  TextStream stream(tokenizer, false);
  EXPECT_THAT(pieces(stream, ids), ElementsAre("word", "", "", "", "", "😀 word"));
}

// SentencePiece writes a space before the first word and drops it again: only there.
TEST(TextStream, OnlyTheFirstSpaceOfTheTextIsDropped) {
  for (const std::string name : {"llama2_legacy", "llama2_metaspace"}) {
    const auto tokenizer = load_cases(name).tokenizer;
    const int64_t word = tokenizer->id_of("▁word").value();
    const int64_t eos = tokenizer->id_of("</s>").value();
    TextStream skipping(tokenizer, true);
    EXPECT_THAT(pieces(skipping, {eos, word, eos, word, word}),
                ElementsAre("", "word", "", " word", " word"));
    TextStream whole(tokenizer, false);
    EXPECT_THAT(pieces(whole, {word, eos, word}), ElementsAre("word", "</s>", " word"));
  }
}

TEST(TextStream, BytesThatAreNoTextDoNotStopTheStream) {
  const auto tokenizer = load_cases("tiny_llama").tokenizer;
  const int64_t continuation = tokenizer->encode("😀", false).back();
  const Ids ids(500, continuation);
  TextStream stream(tokenizer, false);
  std::string so_far;
  for (size_t i = 0; i < ids.size(); ++i) {
    so_far += stream.push(ids[i]);
    EXPECT_EQ(so_far.size(), 3 * i) << "one U+FFFD is held at a time";
  }
  EXPECT_EQ(so_far + stream.finish(), tokenizer->decode(ids, false));
}

TEST(TextStream, IdsBeyondTheVocabularyGiveNothing) {
  const auto tokenizer = load_cases("tiny_llama").tokenizer;
  const Ids hello = tokenizer->encode("Hello", false);
  TextStream stream(tokenizer, false);
  EXPECT_EQ(stream.push(100000), "");
  EXPECT_EQ(stream.push(-5), "");
  EXPECT_EQ(stream.push(hello[0]), tokenizer->decode(std::vector{hello[0]}, false));
}

}  // namespace
}  // namespace lathe
