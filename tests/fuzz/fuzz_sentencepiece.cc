// Any bytes as a tokenizer.model: read and turned into a tokenizer.json, or refused with Error.

#include <cstddef>
#include <cstdint>
#include <span>

#include "checkpoint/sentencepiece_model.h"
#include "checkpoint/tokenizer_json.h"
#include "support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto [model, storage] =
        lathe::parse_sentencepiece(std::as_bytes(std::span(data, size)), "input");
    lathe::tokenizer_json(lathe::sentencepiece_json(model, "input"),
                          lathe::added_tokens(model.vocabulary), nullptr);
  } catch (const lathe::Error&) {
  }
  return 0;
}
