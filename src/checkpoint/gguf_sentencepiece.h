#pragma once

#include <deque>
#include <string>

#include "checkpoint/gguf.h"
#include "checkpoint/sentencepiece.h"

namespace lathe {

/// A SentencePiece model that a GGUF file holds, with texts that differ from those in the file.
struct GgufSentencePiece {
  SentencePiece model;
  std::deque<std::string> restored;
};

/// `vocabulary` is that of the file. Spaces in user-defined tokens, which llama.cpp's converter
/// writes for U+2581, become that again. Throws Error for scores that are missing, do not match the
/// vocabulary or are not numbers.
GgufSentencePiece gguf_sentencepiece(const Gguf& gguf, SentencePiece::Kind kind,
                                     Vocabulary vocabulary, const SpecialIds& specials);

}  // namespace lathe
