#pragma once

#include <nlohmann/json.hpp>

#include "checkpoint/gguf.h"
#include "checkpoint/vocabulary.h"

namespace lathe {

/// The merges of a byte-level BPE tokenizer, [["a", "b"], ...], best first, as
/// `tokenizer.ggml.merges` lists them. Throws Error where a merge is malformed or one of its parts
/// or its result is not in the vocabulary.
nlohmann::json stored_merges(const Gguf& gguf, const Vocabulary& vocabulary);

}  // namespace lathe
