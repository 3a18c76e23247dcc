#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/vocabulary.h"

namespace lathe {

/// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view kSentencePieceSpace = "\xE2\x96\x81";

/// A SentencePiece model, out of whatever file: pieces with scores, and what is done to a text
/// before they are looked for (https://github.com/google/sentencepiece,
/// src/sentencepiece_model.proto, whose names and defaults these are).
struct SentencePiece {
  enum class Kind : uint8_t { unigram, bpe };
  Kind kind = Kind::unigram;
  Vocabulary vocabulary;
  std::vector<float> scores;  ///< one a token; of normal tokens they are numbers
  SpecialIds specials;
  bool byte_fallback = false;

  std::span<const std::byte> charsmap;  ///< precompiled_charsmap; may be empty
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  /// Hugging Face's code has no word for control tokens before it cuts a text at them, so each part
  /// begins with a dummy prefix ("legacy"); false: only the beginning of the whole text.
  bool prefix_every_part = true;
};

/// The merges that the pieces of a BPE model imply, [["a", "b"], ...], best first: every split of a
/// normal or user-defined piece into two tokens. User-defined pieces come first, as SentencePiece
/// looks for them before all others, then those with the higher score; what is equal in that goes
/// by the lengths of the left and of the right part, longer ones first, as in the tokenizer.json
/// files that Hugging Face's code makes. Throws Error for a piece that is too long to be split, and
/// for merges that make a piece which the model does not use: only SentencePiece itself takes such
/// a one apart again.
nlohmann::json sentencepiece_merges(const SentencePiece& model, const std::string& where);

/// The parts of a tokenizer.json for Hugging Face's `tokenizers`: normalizer, pre_tokenizer,
/// decoder and model. Ids are those of SentencePiece, except in texts that spell control or
/// user-defined tokens. Throws Error as sentencepiece_merges() does, and for a charsmap whose
/// lengths do not fit; `where` names the file.
nlohmann::json sentencepiece_json(const SentencePiece& model, const std::string& where);

}  // namespace lathe
