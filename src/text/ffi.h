#pragma once

#include <cstddef>
#include <cstdint>

#include "support/rust_bridge.h"

// The C ABI of rust/text: the C++ side of every `extern "C"` function there; the two change
// together.

extern "C" {

/// Belongs to the caller until lathe_text_free_ids.
struct LatheOwnedIds {
  uint32_t* data;
  size_t size;
};

struct LatheTokenizer;

void lathe_text_free_ids(LatheOwnedIds ids);

bool lathe_tokenizer_open(LatheText tokenizer_json, LatheTokenizer** tokenizer,
                          LatheOwnedText* error);
void lathe_tokenizer_close(LatheTokenizer* tokenizer);
/// {"vocab_size": n, "specials": [spelling, ...], "prefix": [id, ...], "suffix": [id, ...]}
bool lathe_tokenizer_describe(const LatheTokenizer* tokenizer, LatheOwnedText* json,
                              LatheOwnedText* error);
/// `mark`: a character to be read as if it were not there, but across which no added token is
/// found; 0 for none.
bool lathe_tokenizer_encode(const LatheTokenizer* tokenizer, LatheText text, bool add_special,
                            uint32_t mark, LatheOwnedIds* ids, LatheOwnedText* error);
/// Ids that are not in the vocabulary give no text.
bool lathe_tokenizer_decode(const LatheTokenizer* tokenizer, const uint32_t* ids, size_t count,
                            bool skip_special, LatheOwnedText* text, LatheOwnedText* error);
/// -1 where there is no such token.
int64_t lathe_tokenizer_id_of(const LatheTokenizer* tokenizer, LatheText token);
/// 0: no token has this id, 1: text, 2: control token, 3: a byte of a byte-fallback decoder.
uint8_t lathe_tokenizer_kind_of(const LatheTokenizer* tokenizer, uint32_t id);

/// Compiles a template. Writes an empty text on success.
bool lathe_template_check(LatheText source, LatheOwnedText* unused, LatheOwnedText* error);
/// `now`: a time such as 2024-07-04T09:05:07; empty for the machine's local time.
bool lathe_template_render(LatheText source, LatheText context_json, LatheText now,
                           LatheOwnedText* rendered, LatheOwnedText* error);

}  // extern "C"
