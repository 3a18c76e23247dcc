#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf.h"

namespace lathe {

/// The text side of a GGUF file.
struct GgufText {
  TextAssets assets;
  std::vector<int64_t> eos_ids;
  std::optional<int64_t> bos_id;
};

/// Rebuilds a tokenizer.json for Hugging Face's `tokenizers` from the vocabulary of a GGUF file:
///  - model `gpt2`: byte-level BPE with the file's merges and the pre-tokenizer that
///    `tokenizer.ggml.pre` names;
///  - model `llama`: SentencePiece BPE; merges follow from the scores;
///  - model `t5`: SentencePiece Unigram.
/// Control tokens become special added tokens, user-defined ones plain added tokens; the add_bos
/// and add_eos flags become a TemplateProcessing post-processor. Ids that end a text: eos, eot and
/// eom of the metadata, and control tokens with the usual names of an end of turn, since files
/// often name the end of the text only. Throws Error for another tokenizer model, an unknown
/// pre-tokenizer or an inconsistent vocabulary. A file without a tokenizer gives an empty
/// tokenizer_json and a warning.
GgufText gguf_text(const Gguf& gguf, std::vector<std::string>& warnings);

}  // namespace lathe
