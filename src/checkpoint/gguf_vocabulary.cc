#include "checkpoint/gguf_vocabulary.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "support/error.h"

namespace lathe {

bool GgufVocabulary::is_added(size_t id) const {
  if (tokens[id].empty()) return false;
  const GgufTokenType type = types[id];
  return type == GgufTokenType::control || type == GgufTokenType::user_defined ||
         type == GgufTokenType::unknown;
}

bool GgufVocabulary::has_all_bytes() const {
  return std::count(types.begin(), types.end(), GgufTokenType::byte) == 256;
}

std::optional<int64_t> GgufVocabulary::unknown() const {
  const auto found = std::find(types.begin(), types.end(), GgufTokenType::unknown);
  if (found == types.end()) return std::nullopt;
  return found - types.begin();
}

GgufVocabulary read_vocabulary(const Gguf& gguf) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
  GgufVocabulary out;
  const auto* tokens = gguf.strings(kTokens);
  if (tokens == nullptr || tokens->empty()) {
    fail({.what = "the tokenizer has no vocabulary",
          .where = gguf.where() + ": " + std::string(kTokens)});
  }
  out.tokens = *tokens;
  std::unordered_set<std::string_view> seen;
  for (const std::string_view token : out.tokens) {
    if (seen.insert(token).second) continue;
    fail({.what = "a token is given twice",
          .where = gguf.where() + ": " + std::string(kTokens),
          .found = '"' + printable(token, 60) + '"'});
  }
  const auto types = gguf.integers(kTypes);
  if (!types) {
    out.types.assign(out.tokens.size(), GgufTokenType::normal);
    return out;
  }
  if (types->size() != out.tokens.size()) {
    fail({.what = "the tokenizer is inconsistent",
          .where = gguf.where() + ": " + std::string(kTypes),
          .expected = std::to_string(out.tokens.size()) + " types",
          .found = std::to_string(types->size())});
  }
  for (const int32_t type : *types) {
    if (type < 1 || type > 6) {
      fail({.what = "unknown token type",
            .where = gguf.where() + ": " + std::string(kTypes),
            .expected = "1 to 6",
            .found = std::to_string(type)});
    }
    out.types.push_back(static_cast<GgufTokenType>(type));
  }
  return out;
}

}  // namespace lathe
