#include "checkpoint/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/expect_error.h"
#include "support/mapped_file.h"
#include "support/safetensors_bytes.h"

namespace lathe {
namespace {

using testing::as_span;
using testing::expect_error;

// Fields of protobuf's wire format: a key (number and wire type), then the value.

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string integer(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}
std::string bytes(int number, const std::string& value) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(value.size()) + value;
}
std::string number32(int number, float value) {
  std::string out = varint(static_cast<uint64_t>(number) << 3 | 5) + std::string(4, '\0');
  std::memcpy(out.data() + out.size() - 4, &value, 4);
  return out;
}

// Messages of sentencepiece_model.proto.

std::string piece(const std::string& text, float score, TokenType type = TokenType::normal) {
  return bytes(1, bytes(1, text) + number32(2, score) + integer(3, static_cast<uint64_t>(type)));
}
std::string trainer(const std::string& fields) { return bytes(2, fields); }
std::string normalizer(const std::string& fields) { return bytes(3, fields); }
std::string bpe() { return trainer(integer(3, 2)); }

std::string small_model() {
  return piece("<unk>", 0, TokenType::unknown) + piece("<s>", 0, TokenType::control) +
         piece("</s>", 0, TokenType::control) + piece("ab", -1) + piece("a", -2) + piece("b", -3);
}

SentencePieceFile parse(const std::string& file) {
  return parse_sentencepiece(as_span(file), "t.model");
}

void expect_refused(const std::string& file, const std::vector<std::string>& parts) {
  expect_error([&] { parse(file); }, parts);
}

TEST(SentencePieceModel, HoldsPiecesScoresAndSettings) {
  const std::string file = small_model() + bpe() + normalizer(integer(3, 0) + integer(4, 0));
  const auto [model, storage] = parse(file);
  EXPECT_EQ(model.kind, SentencePiece::Kind::bpe);
  ASSERT_EQ(model.vocabulary.tokens.size(), 6u);
  EXPECT_EQ(model.vocabulary.tokens[3], "ab");
  EXPECT_EQ(model.scores[3], -1);
  EXPECT_EQ(model.specials.unknown, 0);
  EXPECT_EQ(model.specials.bos, 1);
  EXPECT_EQ(model.specials.eos, 2);
  EXPECT_EQ(model.specials.padding, std::nullopt);
  EXPECT_FALSE(model.add_dummy_prefix);
  EXPECT_FALSE(model.remove_extra_whitespaces);
  EXPECT_EQ(sentencepiece_merges(model, "t").dump(), R"([["a","b"]])");
}

TEST(SentencePieceModel, HasTheDefaultsOfItsFormat) {
  const std::string file = small_model() + integer(200, 7) + bytes(4, "self tests");
  const auto [model, storage] = parse(file);
  EXPECT_EQ(model.kind, SentencePiece::Kind::unigram);
  EXPECT_TRUE(model.add_dummy_prefix);
  EXPECT_TRUE(model.remove_extra_whitespaces);
  EXPECT_FALSE(model.byte_fallback);
}

TEST(SentencePieceModel, EveryCutOfAFileIsReadOrRefused) {
  const auto whole = MappedFile::open(LATHE_TEST_DATA "/sentencepiece/bpe.model");
  size_t refused = 0;
  for (size_t size = 0; size < whole.bytes().size(); size += 7) {
    try {
      parse_sentencepiece(whole.bytes().first(size), "t.model");
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(error.what(), ::testing::StartsWith("t.model: "));
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST(SentencePieceModel, LyingLengthsAreRefused) {
  for (const std::string& lie :
       {"\x0A" + varint(1 << 30) + "ab",           // a piece of 2^30 bytes in a file of a few
        "\x0A" + varint(~uint64_t{0}),             // of 2^64 - 1 bytes
        bytes(1, "\x0A\x05" + std::string("ab")),  // a text that is longer than its piece
        std::string(11, '\xFF'),                   // an integer without an end
        std::string(2, '\0')}) {                   // a field with the number 0
    expect_refused(small_model() + lie, {"t.model", "not a SentencePiece model, or a damaged one"});
  }
}

TEST(SentencePieceModel, WhatContradictsItselfIsRefused) {
  expect_refused("", {"t.model", "no vocabulary"});
  expect_refused(piece("a", 0), {"no unknown token"});
  expect_refused(small_model() + piece("a", 0), {"given twice", "\"a\""});
  expect_refused(small_model() + piece("", 0), {"t.model: pieces[6]", "a piece has no text"});
  expect_refused(small_model() + piece("\xFF", 0), {"pieces[6].piece", "UTF-8"});
  expect_refused(small_model() + piece("c", std::numeric_limits<float>::quiet_NaN()),
                 {"a score is not a number"});
  expect_refused(small_model() + piece("c", 0, static_cast<TokenType>(9)), {"1 to 6", "found 9"});
  expect_refused(small_model() + trainer(integer(35, 1)), {"byte_fallback", "256"});
}

TEST(SentencePieceModel, WhatIsNotSupportedIsRefusedByName) {
  expect_refused(small_model() + trainer(integer(3, 3)), {"trainer_spec.model_type", "found 3"});
  expect_refused(small_model() + trainer(integer(3, 4)), {"trainer_spec.model_type", "found 4"});
  expect_refused(small_model() + trainer(integer(24, 1)), {"treat_whitespace_as_suffix"});
  expect_refused(small_model() + normalizer(integer(5, 0)), {"escape_whitespaces"});
  expect_refused(small_model() + bytes(5, bytes(2, "map")), {"denormalizer_spec"});
  // SentencePiece takes such a piece apart again after it has been merged.
  const std::string unused = small_model() + piece("ba", -4, TokenType::unused) + bpe();
  expect_error([&] { sentencepiece_merges(parse(unused).model, "t.model"); },
               {"t.model", "unused piece", "\"ba\""});
}

TEST(SentencePieceModel, ADamagedCharacterMapIsRefused) {
  for (const std::string& map : {std::string("x"), std::string("\xFF\xFF\xFF\xFF\0\0\0\0", 8),
                                 std::string("\4\0\0\0abcd", 8), std::string("\3\0\0\0abc\0", 8)}) {
    const std::string file = small_model() + normalizer(bytes(2, map));
    expect_error([&] { sentencepiece_json(parse(file).model, "t.model"); },
                 {"t.model: precompiled_charsmap", "damaged"});
  }
}

}  // namespace
}  // namespace lathe
