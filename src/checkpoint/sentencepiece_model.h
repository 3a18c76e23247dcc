#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "checkpoint/sentencepiece.h"

namespace lathe {

/// Reads a SentencePiece `tokenizer.model`: the ModelProto of
/// https://github.com/google/sentencepiece, src/sentencepiece_model.proto, in protobuf's wire
/// format. The views of the result point into `file`. Throws Error for a malformed file, a kind
/// other than BPE or Unigram, pieces that contradict each other, and settings that are not
/// supported; `where` names the file.
SentencePiece parse_sentencepiece(std::span<const std::byte> file, const std::string& where);

}  // namespace lathe
