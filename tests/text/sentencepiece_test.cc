// SentencePiece models and what Hugging Face's `tokenizers` makes of a text with the tokenizer.json
// built from them.

#include "checkpoint/sentencepiece.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/sentencepiece_model.h"
#include "checkpoint/tokenizer_json.h"
#include "support/mapped_file.h"
#include "text/tokenizer.h"

namespace lathe {
namespace {

using Ids = std::vector<int64_t>;

const std::filesystem::path kData = std::filesystem::path(LATHE_TEST_DATA) / "sentencepiece";

nlohmann::json golden(const std::string& name) {
  return nlohmann::json::parse(read_text_file(kData / "golden.json")).at("models").at(name);
}

std::shared_ptr<const Tokenizer> open_model(const std::string& name) {
  const auto file = MappedFile::open(kData / (name + ".model"));
  const auto [model, storage] = parse_sentencepiece(file.bytes(), name);
  return Tokenizer::from_json(
      tokenizer_json(sentencepiece_json(model, name), added_tokens(model.vocabulary), nullptr),
      name);
}

/// The models of tests/data/sentencepiece; make_models.py says what is special about each.
class SentencePieceModels : public ::testing::TestWithParam<std::string> {};

TEST_P(SentencePieceModels, IdsAreThoseOfSentencePiece) {
  const auto tokenizer = open_model(GetParam());
  const nlohmann::json expected = golden(GetParam());
  EXPECT_EQ(tokenizer->vocab_size(), expected.at("vocab_size").get<int64_t>());
  for (const auto& item : expected.at("cases")) {
    const auto text = item.at("text").get<std::string>();
    EXPECT_EQ(tokenizer->encode(text, false), item.at("ids").get<Ids>()) << item.at("text").dump();
  }
}

TEST_P(SentencePieceModels, NoControlTokenComesFromTextTakenAsText) {
  const auto tokenizer = open_model(GetParam());
  const Ids ids = tokenizer->encode("a</s>b<s>", false, Tokenizer::Specials::as_text);
  const std::string text = tokenizer->decode(ids, false);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer->id_of("</s>").value()), 0) << text;
  EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer->id_of("<s>").value()), 0) << text;
}

INSTANTIATE_TEST_SUITE_P(All, SentencePieceModels,
                         ::testing::Values("bpe", "bpe_runs", "unigram", "unigram_bytes"),
                         [](const auto& info) { return info.param; });

TEST(SentencePieceText, ComesBackWholeWhereBytesStandInForWhatIsNotKnown) {
  for (const char* name : {"bpe", "bpe_runs", "unigram_bytes"}) {
    const auto tokenizer = open_model(name);
    const nlohmann::json expected = golden(name);
    for (const auto& item : expected.at("cases")) {
      const auto text = item.at("text").get<std::string>();
      if (text.find("\u2581") != std::string::npos) continue;  // stands for a space
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, false), false), text) << name;
    }
  }
}

}  // namespace
}  // namespace lathe
