#include "checkpoint/sentencepiece.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "checkpoint/tokenizer_json.h"
#include "support/error.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSpace = kSentencePieceSpace;

// Far longer than any token of a real SentencePiece model; all its splits are looked at.
constexpr size_t kMaxPiece = 1024;

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), starts_character);
}

struct Merge {
  bool user_defined;  // whether what comes out is
  float score;        // of what comes out
  size_t piece;       // what comes out
  size_t left;
  size_t right;
  int64_t left_length;  // in characters
  int64_t right_length;

  /// Sorts the best one first.
  auto rank() const {
    return std::tuple(!user_defined, -score, -left_length, -right_length, piece, left);
  }
};

std::vector<Merge> all_merges(const SentencePiece& model, const std::string& where) {
  const Vocabulary& vocabulary = model.vocabulary;
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) ids.emplace(vocabulary.tokens[id], id);
  std::vector<Merge> merges;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    const bool user_defined = type == TokenType::user_defined;
    if (type != TokenType::normal && type != TokenType::unused && !user_defined) continue;
    const std::string_view piece = vocabulary.tokens[id];
    if (piece.size() > kMaxPiece) {
      fail({.what = "a token is too long",
            .where = where,
            .expected = "at most " + std::to_string(kMaxPiece) + " bytes",
            .found = '"' + printable(piece, 60) + '"'});
    }
    for (size_t cut = 1; cut < piece.size(); ++cut) {
      if (!starts_character(piece[cut])) continue;
      const auto left = ids.find(piece.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(piece.substr(cut));
      if (right == ids.end()) continue;
      if (type == TokenType::unused) {
        fail({.what = "a BPE model whose merges make an unused piece is not supported",
              .where = where,
              .found = '"' + printable(piece, 60) + '"',
              .advice = "use a checkpoint of the model with a tokenizer.json"});
      }
      merges.push_back({user_defined, user_defined ? 0.0F : model.scores[id], id, left->second,
                        right->second, characters(left->first), characters(right->first)});
    }
  }
  return merges;
}

/// Scores as `tokenizers` is to see them, which looks for pieces of every type. SentencePiece looks
/// for normal and user-defined ones only; to the latter it gives length * max_score_ - 0.1, where
/// max_score_ is at least the smallest positive float (Model::EncodeOptimized, unigram_model.cc).
Json unigram_vocab(const SentencePiece& model) {
  constexpr double kNever = -1e6;  // less than any way around it
  constexpr double kUserDefined = -0.1;
  Json vocab = Json::array();
  for (size_t id = 0; id < model.scores.size(); ++id) {
    const TokenType type = model.vocabulary.types[id];
    const double score = type == TokenType::normal         ? model.scores[id]
                         : type == TokenType::user_defined ? kUserDefined
                                                           : kNever;
    vocab.push_back({model.vocabulary.tokens[id], score});
  }
  return vocab;
}

Json model_json(const SentencePiece& model, const std::string& where) {
  if (model.kind == SentencePiece::Kind::unigram) {
    return {{"type", "Unigram"},
            {"unk_id", model.specials.unknown ? Json(*model.specials.unknown) : Json()},
            {"vocab", unigram_vocab(model)},
            {"byte_fallback", model.byte_fallback}};
  }
  Json bpe = bpe_model(whole_vocab(model.vocabulary), sentencepiece_merges(model, where));
  if (model.specials.unknown) {
    bpe["unk_token"] = model.vocabulary.text(*model.specials.unknown);
    bpe["fuse_unk"] = true;
  }
  bpe["byte_fallback"] = model.byte_fallback;
  return bpe;
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = (group << 8) | (j < left ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += j <= left ? kDigits[(group >> (18 - 6 * j)) & 63] : '=';
    }
  }
  return out;
}

/// A charsmap is the size of a trie in bytes (32 bits, little-endian), the trie, and texts that end
/// with NUL (Normalizer::DecodePrecompiledCharsMap of SentencePiece).
void check_charsmap(std::span<const std::byte> charsmap, const std::string& where) {
  constexpr size_t kHead = 4;
  uint64_t trie = 0;
  for (size_t i = 0; i < kHead && i < charsmap.size(); ++i) {
    trie |= std::to_integer<uint64_t>(charsmap[i]) << (8 * i);
  }
  if (charsmap.size() > kHead && trie % 4 == 0 && trie > 0 && trie < charsmap.size() - kHead &&
      charsmap.back() == std::byte{0}) {
    return;
  }
  fail({.what = "the map of characters is damaged",
        .where = where + ": precompiled_charsmap",
        .expected =
            "a trie and the texts behind it in " + std::to_string(charsmap.size()) + " bytes",
        .found = "a trie of " + std::to_string(trie) + " bytes"});
}

Json replace(Json pattern, std::string_view content) {
  return {{"type", "Replace"}, {"pattern", std::move(pattern)}, {"content", content}};
}

Json sequence(const char* name, Json steps) {
  if (steps.empty()) return nullptr;
  return {{"type", "Sequence"}, {name, std::move(steps)}};
}

Json normalizer(const SentencePiece& model, const std::string& where) {
  Json steps = Json::array();
  if (!model.charsmap.empty()) {
    check_charsmap(model.charsmap, where);
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.charsmap)}});
  }
  if (model.remove_extra_whitespaces) {
    steps.push_back(replace({{"Regex", "\\A +|[ " + std::string(kSpace) + "]+\\z"}}, ""));
    steps.push_back(replace({{"Regex", " {2,}"}}, " "));
  }
  if (model.prefix_every_part) {
    if (model.add_dummy_prefix) steps.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
    steps.push_back(replace({{"String", " "}}, kSpace));
  }
  return sequence("normalizers", std::move(steps));
}

Json pre_tokenizer(const SentencePiece& model) {
  if (model.prefix_every_part) return nullptr;
  return {{"type", "Metaspace"},
          {"replacement", kSpace},
          {"prepend_scheme", model.add_dummy_prefix ? "first" : "never"},
          {"split", false}};
}

Json decoder(const SentencePiece& model) {
  Json steps = Json::array();
  steps.push_back(replace({{"String", kSpace}}, " "));
  steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (model.add_dummy_prefix) {
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return sequence("decoders", std::move(steps));
}

}  // namespace

Json sentencepiece_merges(const SentencePiece& model, const std::string& where) {
  std::vector<Merge> merges = all_merges(model, where);
  std::sort(merges.begin(), merges.end(),
            [](const Merge& a, const Merge& b) { return a.rank() < b.rank(); });
  const auto& tokens = model.vocabulary.tokens;
  Json out = Json::array();
  for (const Merge& merge : merges) out.push_back({tokens[merge.left], tokens[merge.right]});
  return out;
}

Json sentencepiece_json(const SentencePiece& model, const std::string& where) {
  return {{"normalizer", normalizer(model, where)},
          {"pre_tokenizer", pre_tokenizer(model)},
          {"decoder", decoder(model)},
          {"model", model_json(model, where)}};
}

}  // namespace lathe
