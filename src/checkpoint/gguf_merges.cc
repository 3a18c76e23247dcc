#include "checkpoint/gguf_merges.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

// Far longer than any token of a real SentencePiece model; all its splits are looked at.
constexpr size_t kMaxPiece = 1024;

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

nlohmann::json stored_merges(const Gguf& gguf, const GgufVocabulary& vocabulary) {
  constexpr std::string_view kMerges = "tokenizer.ggml.merges";
  const auto* merges = gguf.strings(kMerges);
  if (merges == nullptr) {
    fail({.what = "the tokenizer has no merges",
          .where = gguf.where() + ": " + std::string(kMerges)});
  }
  const std::unordered_set<std::string_view> known(vocabulary.tokens.begin(),
                                                   vocabulary.tokens.end());
  nlohmann::json out = nlohmann::json::array();
  for (const std::string_view merge : *merges) {
    // A part may itself begin with a space in no byte-level vocabulary, so the first one separates.
    const size_t space = merge.find(' ', 1);
    const bool two = space != std::string_view::npos && space + 1 < merge.size();
    const std::string left(two ? merge.substr(0, space) : "");
    const std::string right(two ? merge.substr(space + 1) : "");
    if (!two || !known.contains(left) || !known.contains(right) || !known.contains(left + right)) {
      fail({.what = "a merge does not fit the vocabulary",
            .where = gguf.where() + ": " + std::string(kMerges),
            .expected = "two tokens that make a third",
            .found = '"' + printable(merge, 60) + '"'});
    }
    out.push_back({left, right});
  }
  return out;
}

nlohmann::json scored_merges(const Gguf& gguf, const GgufVocabulary& vocabulary) {
  constexpr std::string_view kScores = "tokenizer.ggml.scores";
  const auto scores = gguf.floats(kScores);
  const size_t size = vocabulary.tokens.size();
  if (!scores || scores->size() != size) {
    fail({.what = "the tokenizer is inconsistent",
          .where = gguf.where() + ": " + std::string(kScores),
          .expected = std::to_string(size) + " scores",
          .found = scores ? std::to_string(scores->size()) : "none"});
  }
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < size; ++id) ids.emplace(vocabulary.tokens[id], id);

  struct Merge {
    float score;
    size_t token;  // what comes out
    size_t left;
    size_t right;
  };
  std::vector<Merge> merges;
  for (size_t id = 0; id < size; ++id) {
    if (vocabulary.types[id] != GgufTokenType::normal) continue;
    const std::string_view token = vocabulary.tokens[id];
    const float score = (*scores)[id];
    if (token.size() > kMaxPiece || std::isnan(score)) {
      fail({.what = std::isnan(score) ? "a score is not a number" : "a token is too long",
            .where = gguf.where() + ": " + std::string(kScores),
            .found = '"' + printable(token, 60) + '"'});
    }
    for (size_t cut = 1; cut < token.size(); ++cut) {
      if (!starts_character(token[cut])) continue;
      const auto left = ids.find(token.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(token.substr(cut));
      if (right != ids.end()) merges.push_back({score, id, left->second, right->second});
    }
  }
  std::sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.token != b.token) return a.token < b.token;
    return std::pair(a.left, a.right) < std::pair(b.left, b.right);
  });
  nlohmann::json out = nlohmann::json::array();
  for (const Merge& merge : merges) {
    out.push_back({vocabulary.tokens[merge.left], vocabulary.tokens[merge.right]});
  }
  return out;
}

}  // namespace lathe
