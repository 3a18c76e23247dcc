#include "checkpoint/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/gguf_builder.h"
#include "support/expect_error.h"
#include "support/safetensors_bytes.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::as_span;
using ::testing::ElementsAre;
using testing::expect_error;
using testing::GgufBuilder;
using ::testing::HasSubstr;

struct Result {
  GgufText text;
  json tokenizer;
  std::vector<std::string> warnings;
};

Result build(const GgufBuilder& gguf) {
  Result out;
  const std::string bytes = gguf.bytes();
  out.text = gguf_text(Gguf::parse(as_span(bytes), "m.gguf"), out.warnings);
  if (!out.text.assets.tokenizer_json.empty()) {
    out.tokenizer = json::parse(out.text.assets.tokenizer_json);
  }
  return out;
}

void expect_refused(const GgufBuilder& gguf, const std::vector<std::string>& parts) {
  expect_error([&] { build(gguf); }, parts);
}

/// Byte-level: four letters, two merges, one control token in front and two added ones at the end.
GgufBuilder byte_level(const std::string& pre) {
  return GgufBuilder()
      .string("tokenizer.ggml.model", "gpt2")
      .string("tokenizer.ggml.pre", pre)
      .strings("tokenizer.ggml.tokens",
               {"<|im_start|>", "a", "b", "c", "ab", "abc", "<|im_end|>", "  "})
      .integers("tokenizer.ggml.token_type", {3, 1, 1, 1, 1, 1, 3, 4})
      .strings("tokenizer.ggml.merges", {"a b", "ab c"});
}

/// SentencePiece: unknown, control and byte tokens, then pieces with scores.
GgufBuilder sentencepiece() {
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types{2, 3, 3};
  std::vector<float> scores{0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
    types.push_back(6);
    scores.push_back(0);
  }
  const std::vector<std::pair<std::string, float>> pieces{{"\xE2\x96\x81"
                                                           "a",
                                                           -1},
                                                          {"ab", 0},
                                                          {"\xE2\x96\x81"
                                                           "ab",
                                                           -2},
                                                          {"\xE2\x96\x81", -3},
                                                          {"a", -4},
                                                          {"b", -5}};
  for (const auto& [piece, score] : pieces) {
    tokens.push_back(piece);
    types.push_back(1);
    scores.push_back(score);
  }
  return GgufBuilder()
      .string("tokenizer.ggml.model", "llama")
      .strings("tokenizer.ggml.tokens", tokens)
      .integers("tokenizer.ggml.token_type", types)
      .numbers("tokenizer.ggml.scores", scores)
      .integer("tokenizer.ggml.bos_token_id", 1)
      .integer("tokenizer.ggml.eos_token_id", 2);
}

TEST(GgufTokenizer, ByteLevelKeepsVocabularyAndMerges) {
  const Result result = build(byte_level("smollm"));
  const json& model = result.tokenizer["model"];
  EXPECT_EQ(model["type"], "BPE");
  EXPECT_EQ(model["merges"], json::parse(R"([["a", "b"], ["ab", "c"]])"));
  // Added tokens at the end stay out of the model's vocabulary and keep their ids all the same.
  EXPECT_EQ(model["vocab"],
            json({{"<|im_start|>", 0}, {"a", 1}, {"b", 2}, {"c", 3}, {"ab", 4}, {"abc", 5}}));
  const json& added = result.tokenizer["added_tokens"];
  ASSERT_EQ(added.size(), 3u);
  EXPECT_EQ(added[0]["id"], 0);
  EXPECT_EQ(added[0]["special"], true);
  EXPECT_EQ(added[1]["content"], "<|im_end|>");
  EXPECT_EQ(added[2]["id"], 7);
  EXPECT_EQ(added[2]["content"], "  ");
  EXPECT_EQ(added[2]["special"], false);
  EXPECT_TRUE(result.tokenizer["post_processor"].is_null());
  EXPECT_TRUE(result.warnings.empty());
}

TEST(GgufTokenizer, TheNameOfThePreTokenizerDecidesHowTextIsCut) {
  const json smollm = build(byte_level("smollm")).tokenizer["pre_tokenizer"];
  EXPECT_EQ(smollm["pretokenizers"][0], json({{"type", "Digits"}, {"individual_digits", true}}));
  EXPECT_EQ(smollm["pretokenizers"][1]["use_regex"], true);

  const json llama = build(byte_level("llama-bpe")).tokenizer;
  EXPECT_THAT(llama["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"].get<std::string>(),
              HasSubstr("\\p{N}{1,3}"));
  EXPECT_EQ(llama["pre_tokenizer"]["pretokenizers"][1]["use_regex"], false);
  EXPECT_EQ(llama["model"]["ignore_merges"], true);

  const json qwen = build(byte_level("qwen2")).tokenizer;
  EXPECT_EQ(qwen["normalizer"]["type"], "NFC");
  EXPECT_EQ(qwen["model"]["ignore_merges"], false);

  // Phi-4-mini keeps "'s" with its word, OLMo 2 and GLM-4 cut as Llama 3 does.
  const json gpt4o = build(byte_level("gpt-4o")).tokenizer["pre_tokenizer"]["pretokenizers"][0];
  EXPECT_THAT(gpt4o["pattern"]["Regex"].get<std::string>(), HasSubstr("[\\p{Ll}"));
  for (const char* name : {"dbrx", "glm4", "chatglm-bpe"}) {
    EXPECT_EQ(build(byte_level(name)).tokenizer["pre_tokenizer"], llama["pre_tokenizer"]) << name;
  }

  EXPECT_EQ(build(byte_level("gpt-2")).tokenizer["pre_tokenizer"]["type"], "ByteLevel");
  expect_refused(byte_level("novel"), {"tokenizer.ggml.pre", "not supported", "novel"});
}

/// What the pattern of the file for Llama 3 is, the fixture made by Hugging Face's own code says.
TEST(GgufTokenizer, Llama3CutsAsTheFixtureDoes) {
  std::ifstream file(LATHE_TEST_DATA "/tiny/llama/tokenizer.json");
  const json golden = json::parse(file);
  EXPECT_EQ(build(byte_level("llama-bpe")).tokenizer["pre_tokenizer"]["pretokenizers"][0],
            golden["pre_tokenizer"]["pretokenizers"][0]);
}

TEST(GgufTokenizer, WithoutANameGpt2IsAssumedAndSaid) {
  GgufBuilder gguf;
  gguf.string("tokenizer.ggml.model", "gpt2")
      .strings("tokenizer.ggml.tokens", {"a"})
      .strings("tokenizer.ggml.merges", {});
  const Result result = build(gguf);
  EXPECT_EQ(result.tokenizer["pre_tokenizer"]["type"], "ByteLevel");
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("pre-tokenizer")));
}

TEST(GgufTokenizer, FlagsBecomeAPostProcessor) {
  const json post = build(byte_level("smollm")
                              .integer("tokenizer.ggml.bos_token_id", 0)
                              .integer("tokenizer.ggml.eos_token_id", 6)
                              .boolean("tokenizer.ggml.add_bos_token", true)
                              .boolean("tokenizer.ggml.add_eos_token", true))
                        .tokenizer["post_processor"];
  EXPECT_EQ(post["type"], "TemplateProcessing");
  ASSERT_EQ(post["single"].size(), 3u);
  EXPECT_EQ(post["single"][0]["SpecialToken"]["id"], "<|im_start|>");
  EXPECT_EQ(post["single"][1]["Sequence"]["id"], "A");
  EXPECT_EQ(post["single"][2]["SpecialToken"]["id"], "<|im_end|>");
  EXPECT_EQ(post["pair"].size(), 6u);
  EXPECT_EQ(post["special_tokens"]["<|im_end|>"]["ids"], json::array({6}));
  expect_refused(byte_level("smollm").boolean("tokenizer.ggml.add_bos_token", true),
                 {"add_bos_token", "does not name"});
}

TEST(GgufTokenizer, Llama3AddsItsBeginningUnlessTheFileSaysNo) {
  const auto llama = [] {
    return byte_level("llama-bpe").integer("tokenizer.ggml.bos_token_id", 0);
  };
  EXPECT_EQ(build(llama()).tokenizer["post_processor"]["single"].size(), 2u);
  EXPECT_TRUE(build(llama().boolean("tokenizer.ggml.add_bos_token", false))
                  .tokenizer["post_processor"]
                  .is_null());
}

TEST(GgufTokenizer, EndsOfTextAreUnited) {
  const Result result = build(byte_level("smollm")
                                  .integer("tokenizer.ggml.bos_token_id", 0)
                                  .integer("tokenizer.ggml.eos_token_id", 5)
                                  .integer("tokenizer.ggml.eot_token_id", 4)
                                  .string("tokenizer.chat_template", "{{ x }}"));
  // <|im_end|> (6) is a control token with the name of an end of turn.
  EXPECT_THAT(result.text.eos_ids, ::testing::UnorderedElementsAre(4, 5, 6));
  EXPECT_EQ(result.text.bos_id, 0);
  EXPECT_EQ(result.text.assets.chat_template, "{{ x }}");
  const json config = json::parse(result.text.assets.tokenizer_config_json);
  EXPECT_EQ(config["bos_token"], "<|im_start|>");
  EXPECT_EQ(config["eos_token"], "abc");
}

TEST(GgufTokenizer, SentencePieceMergesFollowFromTheScores) {
  const json tokenizer = build(sentencepiece()).tokenizer;
  const json& model = tokenizer["model"];
  const std::string space = "\xE2\x96\x81";
  const auto merge = [](const std::string& left, const std::string& right) {
    return json::array({left, right});
  };
  EXPECT_EQ(model["merges"], json::array({merge("a", "b"),          // "ab", score 0
                                          merge(space, "a"),        // score -1
                                          merge(space + "a", "b"),  // score -2, longer left part
                                          merge(space, "ab")}));    // score -2
  EXPECT_EQ(model["byte_fallback"], true);
  EXPECT_EQ(model["unk_token"], "<unk>");
  EXPECT_EQ(model["fuse_unk"], true);
  EXPECT_EQ(tokenizer["normalizer"]["normalizers"][0]["prepend"], space);
  EXPECT_EQ(tokenizer["decoder"]["decoders"].size(), 4u);
  // SentencePiece models begin with BOS unless the file says otherwise.
  EXPECT_EQ(tokenizer["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
}

TEST(GgufTokenizer, SentencePieceWithoutASpaceInFront) {
  const json tokenizer =
      build(sentencepiece().boolean("tokenizer.ggml.add_space_prefix", false)).tokenizer;
  EXPECT_EQ(tokenizer["normalizer"]["normalizers"].size(), 1u);
  EXPECT_EQ(tokenizer["decoder"]["decoders"].size(), 3u);
}

TEST(GgufTokenizer, RunsOfSpacesAreFoundBeforeAllElse) {
  const std::string space = "\xE2\x96\x81";
  const json tokenizer =
      build(GgufBuilder()
                .string("tokenizer.ggml.model", "llama")
                .strings("tokenizer.ggml.tokens", {space, "a", space + "a", "  ", "   "})
                .integers("tokenizer.ggml.token_type", {1, 1, 1, 4, 4})
                .numbers("tokenizer.ggml.scores", {-2, -1, 0, -1000, -1000}))
          .tokenizer;
  EXPECT_EQ(tokenizer["added_tokens"][0]["content"], space + space)
      << "llama.cpp's converter writes spaces in user-defined tokens";
  EXPECT_EQ(
      tokenizer["model"]["merges"],
      json::array({{space + space, space}, {space, space + space}, {space, space}, {space, "a"}}));
}

TEST(GgufTokenizer, TextIsCleanedUpAsTheFileSays) {
  const json steps = build(sentencepiece().boolean("tokenizer.ggml.remove_extra_whitespaces", true))
                         .tokenizer["normalizer"]["normalizers"];
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[1]["pattern"]["Regex"], " {2,}");
  EXPECT_EQ(steps[2]["type"], "Prepend");
}

TEST(GgufTokenizer, UnigramKeepsTheScoresOfWhatMayBeFound) {
  const json tokenizer =
      build(GgufBuilder()
                .string("tokenizer.ggml.model", "t5")
                .strings("tokenizer.ggml.tokens", {"<pad>", "</s>", "<unk>", "a"})
                .integers("tokenizer.ggml.token_type", {3, 3, 2, 1})
                .numbers("tokenizer.ggml.scores", {0, 0, 0, -1.5})
                .integer("tokenizer.ggml.eos_token_id", 1))
          .tokenizer;
  EXPECT_EQ(tokenizer["model"]["type"], "Unigram");
  EXPECT_EQ(tokenizer["model"]["unk_id"], 2);
  EXPECT_EQ(tokenizer["model"]["vocab"][3], json::array({"a", -1.5}));
  EXPECT_LT(tokenizer["model"]["vocab"][1][1].get<double>(), -1000);
  // T5's texts end with EOS unless the file says otherwise.
  EXPECT_EQ(tokenizer["post_processor"]["single"][1]["SpecialToken"]["id"], "</s>");
}

TEST(GgufTokenizer, NamedChatTemplatesAreKept) {
  const Result result = build(byte_level("smollm")
                                  .string("tokenizer.chat_template", "plain")
                                  .strings("tokenizer.chat_templates", {"tool_use"})
                                  .string("tokenizer.chat_template.tool_use", "tools"));
  EXPECT_EQ(result.text.assets.chat_template, "plain");
  EXPECT_EQ(json::parse(result.text.assets.tokenizer_config_json)["chat_template"],
            json::parse(R"([{"name": "default", "template": "plain"},
                            {"name": "tool_use", "template": "tools"}])"));
}

TEST(GgufTokenizer, AFileWithoutATokenizerStillOpens) {
  const Result result = build(GgufBuilder());
  EXPECT_EQ(result.text.assets.tokenizer_json, "");
  EXPECT_EQ(result.text.assets.tokenizer_config_json, "{}");
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("no tokenizer")));
}

TEST(GgufTokenizer, RefusesInconsistentVocabularies) {
  const auto gpt2 = [] {
    return GgufBuilder()
        .string("tokenizer.ggml.model", "gpt2")
        .string("tokenizer.ggml.pre", "gpt-2");
  };
  expect_refused(GgufBuilder().string("tokenizer.ggml.model", "bert"), {"model", "\"bert\""});
  expect_refused(gpt2(), {"tokenizer.ggml.tokens", "no vocabulary"});
  expect_refused(gpt2().strings("tokenizer.ggml.tokens", {}), {"no vocabulary"});
  expect_refused(gpt2().strings("tokenizer.ggml.tokens", {"a", "a"}), {"given twice", "\"a\""});
  expect_refused(gpt2().strings("tokenizer.ggml.tokens", {"\xFF"}), {"tokens", "UTF-8"});
  const auto tokens = [&] { return gpt2().strings("tokenizer.ggml.tokens", {"a", "b", "ab"}); };
  expect_refused(tokens(), {"merges"});
  expect_refused(tokens().integers("tokenizer.ggml.token_type", {1}), {"expected 3 types", "1"});
  expect_refused(tokens().integers("tokenizer.ggml.token_type", {1, 1, 9}), {"token type", "9"});
  for (const char* merge : {"a c", "b a", "ab", "a ", " ", "", "a b c"}) {
    expect_refused(tokens().strings("tokenizer.ggml.merges", {merge}), {"merges", "two tokens"});
  }
  expect_refused(
      tokens().strings("tokenizer.ggml.merges", {}).integer("tokenizer.ggml.eos_token_id", 3),
      {"eos_token_id", "0 to 2", "found 3"});
  const auto pieces = [] {
    return GgufBuilder()
        .string("tokenizer.ggml.model", "llama")
        .strings("tokenizer.ggml.tokens", {"a", std::string(2000, 'b')});
  };
  expect_refused(pieces(), {"scores", "none"});
  expect_refused(pieces().numbers("tokenizer.ggml.scores", {1}), {"expected 2 scores"});
  expect_refused(pieces().numbers("tokenizer.ggml.scores", {std::nanf(""), 1}), {"not a number"});
  expect_refused(pieces().numbers("tokenizer.ggml.scores", {1, 1}), {"too long"});
  expect_refused(sentencepiece().string("tokenizer.ggml.precompiled_charsmap", "map"),
                 {"precompiled_charsmap", "an array of bytes"});
  // A trie of 2^32 - 1 bytes in a map of eight.
  expect_refused(sentencepiece().add("tokenizer.ggml.precompiled_charsmap", 9,
                                     std::string("\0\0\0\0\x08\0\0\0\0\0\0\0", 12) +
                                         "\xFF\xFF\xFF\xFF" + std::string(4, '\0')),
                 {"precompiled_charsmap", "4294967295 bytes"});
}

}  // namespace
}  // namespace lathe
