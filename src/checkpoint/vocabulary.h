#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// What a token is, numbered as SentencePiece models and GGUF's `tokenizer.ggml.token_type` do.
enum class TokenType : int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// The type with this number; nothing where there is none.
std::optional<TokenType> token_type(int64_t number);

/// The tokens of a vocabulary by id; views into the file that they come from.
struct Vocabulary {
  std::vector<std::string_view> tokens;
  std::vector<TokenType> types;

  /// Throws Error where a text is there twice; `where` names the file and the key.
  void require_unique(const std::string& where) const;
  /// Whether the token is found in the text before the model sees it.
  bool is_added(size_t id) const;
  /// Whether there is a token for every one of the 256 bytes ("<0x0A>").
  bool has_all_bytes() const;
  /// The token of type unknown, if any.
  std::optional<int64_t> unknown() const;
  /// The text of a token that the vocabulary has.
  std::string text(int64_t id) const { return std::string(tokens[static_cast<size_t>(id)]); }
};

/// The ids of the tokens that have a part of their own.
struct SpecialIds {
  std::optional<int64_t> bos, eos, unknown, padding;
};

}  // namespace lathe
