#include "checkpoint/gguf_vocabulary.h"

#include <string>
#include <string_view>

#include "support/error.h"

namespace lathe {

Vocabulary read_vocabulary(const Gguf& gguf) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
  const auto place = [&](std::string_view key) { return gguf.where() + ": " + std::string(key); };
  Vocabulary out;
  const auto* tokens = gguf.strings(kTokens);
  if (tokens == nullptr || tokens->empty()) {
    fail({.what = "the tokenizer has no vocabulary", .where = place(kTokens)});
  }
  out.tokens = *tokens;
  out.require_unique(place(kTokens));
  const auto types = gguf.integers(kTypes);
  if (!types) {
    out.types.assign(out.tokens.size(), TokenType::normal);
    return out;
  }
  if (types->size() != out.tokens.size()) {
    fail({.what = "the tokenizer is inconsistent",
          .where = place(kTypes),
          .expected = std::to_string(out.tokens.size()) + " types",
          .found = std::to_string(types->size())});
  }
  for (const int32_t number : *types) {
    const auto type = token_type(number);
    if (!type) {
      fail({.what = "unknown token type",
            .where = place(kTypes),
            .expected = "1 to 6",
            .found = std::to_string(number)});
    }
    out.types.push_back(*type);
  }
  return out;
}

}  // namespace lathe
