#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/vocabulary.h"

namespace lathe {

// The parts of a tokenizer.json that are the same whatever vocabulary it is built from.

/// "added_tokens": control and unknown tokens as special ones, user-defined tokens as plain ones.
nlohmann::json added_tokens(const Vocabulary& vocabulary);

/// The "vocab" of a model: all tokens with their ids.
nlohmann::json whole_vocab(const Vocabulary& vocabulary);
/// All but the added tokens at the end: `tokenizers` numbers those on from there, and a model with
/// ignore_merges could reach them from plain text otherwise.
nlohmann::json vocab_before_added(const Vocabulary& vocabulary);

/// A "model" of type BPE that knows neither unknown tokens nor bytes.
nlohmann::json bpe_model(nlohmann::json vocab, nlohmann::json merges);

/// What a tokenizer adds to a text; an empty id adds nothing.
struct AroundText {
  std::optional<int64_t> bos, eos;
};

/// A "post_processor" that adds the two; null where there are none.
nlohmann::json post_processor(const Vocabulary& vocabulary, const AroundText& around);

/// Fills in the names of special tokens that a tokenizer_config.json does not give itself.
void name_special_tokens(const Vocabulary& vocabulary, const SpecialIds& specials,
                         nlohmann::json& tokenizer_config);

/// A whole tokenizer.json out of its parts: `parts` holds normalizer, pre_tokenizer, decoder and
/// model.
std::string tokenizer_json(nlohmann::json parts, nlohmann::json added, nlohmann::json post);

}  // namespace lathe
