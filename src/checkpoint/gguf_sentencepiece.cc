#include "checkpoint/gguf_sentencepiece.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

std::vector<float> read_scores(const Gguf& gguf, const Vocabulary& vocabulary) {
  constexpr std::string_view kScores = "tokenizer.ggml.scores";
  const std::string where = gguf.where() + ": " + std::string(kScores);
  auto scores = gguf.floats(kScores);
  if (!scores || scores->size() != vocabulary.tokens.size()) {
    fail({.what = "the tokenizer is inconsistent",
          .where = where,
          .expected = std::to_string(vocabulary.tokens.size()) + " scores",
          .found = scores ? std::to_string(scores->size()) : "none"});
  }
  for (size_t id = 0; id < scores->size(); ++id) {
    if (!std::isnan((*scores)[id])) continue;
    fail({.what = "a score is not a number",
          .where = where,
          .found = "that of token " + std::to_string(id)});
  }
  return *std::move(scores);
}

std::span<const std::byte> read_charsmap(const Gguf& gguf) {
  constexpr std::string_view kCharsmap = "tokenizer.ggml.precompiled_charsmap";
  const auto found = gguf.metadata().find(kCharsmap);
  if (found == gguf.metadata().end()) return {};
  const auto* bytes = std::get_if<GgufArray>(&found->second);
  constexpr uint32_t kUint8 = 0;
  constexpr uint32_t kInt8 = 1;
  if (bytes == nullptr || (bytes->type != kUint8 && bytes->type != kInt8)) {
    fail({.what = "wrong type of value",
          .where = gguf.where() + ": " + std::string(kCharsmap),
          .expected = "an array of bytes"});
  }
  return bytes->bytes;
}

std::string with_marks_for_spaces(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (byte == ' ') {
      out += kSentencePieceSpace;
    } else {
      out += byte;
    }
  }
  return out;
}

}  // namespace

GgufSentencePiece gguf_sentencepiece(const Gguf& gguf, SentencePiece::Kind kind,
                                     Vocabulary vocabulary, const SpecialIds& specials) {
  GgufSentencePiece out;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    std::string_view& token = vocabulary.tokens[id];
    if (vocabulary.types[id] != TokenType::user_defined) continue;
    if (token.find(' ') == std::string_view::npos) continue;
    token = out.restored.emplace_back(with_marks_for_spaces(token));
  }
  vocabulary.require_unique(gguf.where() + ": tokenizer.ggml.tokens");
  // What llama.cpp takes where a file does not say it.
  const bool bpe = kind == SentencePiece::Kind::bpe;
  out.model.kind = kind;
  out.model.scores = read_scores(gguf, vocabulary);
  out.model.byte_fallback = vocabulary.has_all_bytes();
  out.model.vocabulary = std::move(vocabulary);
  out.model.specials = specials;
  if (!specials.unknown) out.model.specials.unknown = out.model.vocabulary.unknown();
  out.model.charsmap = read_charsmap(gguf);
  out.model.add_dummy_prefix = gguf.boolean("tokenizer.ggml.add_space_prefix").value_or(bpe);
  out.model.remove_extra_whitespaces =
      gguf.boolean("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
  return out;
}

}  // namespace lathe
