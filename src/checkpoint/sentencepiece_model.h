#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "checkpoint/sentencepiece.h"

namespace lathe {

/// What a tokenizer.model holds. The views of `model` live as long as `storage`.
struct SentencePieceFile {
  SentencePiece model;
  std::shared_ptr<const void> storage;
};

/// Reads a SentencePiece `tokenizer.model`, the ModelProto of sentencepiece.proto. Throws Error for
/// a malformed file, a kind other than BPE or Unigram, pieces that contradict each other, and
/// settings that are not supported; `where` names the file.
SentencePieceFile parse_sentencepiece(std::span<const std::byte> file, const std::string& where);

}  // namespace lathe
