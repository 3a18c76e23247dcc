#include "checkpoint/vocabulary.h"

#include <algorithm>
#include <unordered_set>

#include "support/error.h"

namespace lathe {

std::optional<TokenType> token_type(int64_t number) {
  if (number < 1 || number > 6) return std::nullopt;
  return static_cast<TokenType>(number);
}

void Vocabulary::require_unique(const std::string& where) const {
  std::unordered_set<std::string_view> seen;
  for (const std::string_view token : tokens) {
    if (seen.insert(token).second) continue;
    fail({.what = "a token is given twice",
          .where = where,
          .found = '"' + printable(token, 60) + '"'});
  }
}

bool Vocabulary::is_added(size_t id) const {
  if (tokens[id].empty()) return false;
  const TokenType type = types[id];
  return type == TokenType::control || type == TokenType::user_defined ||
         type == TokenType::unknown;
}

bool Vocabulary::has_all_bytes() const {
  return std::count(types.begin(), types.end(), TokenType::byte) == 256;
}

std::optional<int64_t> Vocabulary::unknown() const {
  const auto found = std::find(types.begin(), types.end(), TokenType::unknown);
  if (found == types.end()) return std::nullopt;
  return found - types.begin();
}

}  // namespace lathe
