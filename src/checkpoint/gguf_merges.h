#pragma once

#include <nlohmann/json.hpp>

#include "checkpoint/gguf.h"
#include "checkpoint/gguf_vocabulary.h"

namespace lathe {

/// The merges of a byte-level BPE tokenizer, [["a", "b"], ...], best first, as
/// `tokenizer.ggml.merges` lists them. Throws Error where a merge is malformed or one of its parts
/// or its result is not in the vocabulary.
nlohmann::json stored_merges(const Gguf& gguf, const GgufVocabulary& vocabulary);

/// The merges that a SentencePiece BPE vocabulary implies: every split of a normal token into two
/// tokens, ordered by the token's score, best first; equal scores in the order of ids, left part
/// first. Throws Error where the scores are missing or do not match the vocabulary.
nlohmann::json scored_merges(const Gguf& gguf, const GgufVocabulary& vocabulary);

}  // namespace lathe
