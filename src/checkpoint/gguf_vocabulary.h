#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "checkpoint/gguf.h"

namespace lathe {

/// As `tokenizer.ggml.token_type` numbers them.
enum class GgufTokenType : int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// The tokens of a GGUF file by id; views into the file. Every text is there once.
struct GgufVocabulary {
  std::vector<std::string_view> tokens;
  std::vector<GgufTokenType> types;  ///< normal for all where the file has no types

  /// Whether the token is found in the text before the model sees it.
  bool is_added(size_t id) const;
  /// Whether there is a token for every one of the 256 bytes ("<0x0A>").
  bool has_all_bytes() const;
  /// The token of type unknown, if any.
  std::optional<int64_t> unknown() const;
};

/// Throws Error for a missing or empty vocabulary, types that do not match it in number or value,
/// and a text given twice.
GgufVocabulary read_vocabulary(const Gguf& gguf);

}  // namespace lathe
