#include "checkpoint/sentencepiece_model.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "checkpoint/sentencepiece.pb.h"
#include "support/error.h"
#include "support/utf8.h"

namespace lathe {
namespace {

using sentencepiece::ModelProto;

constexpr int32_t kUnigram = 1;
constexpr int32_t kBpe = 2;

[[noreturn]] void refuse(const std::string& where, const char* setting, std::string found) {
  fail({.what = "tokenizers with this setting are not supported",
        .where = where + ": " + setting,
        .found = std::move(found),
        .advice = "use a checkpoint of the model with a tokenizer.json"});
}

std::shared_ptr<const ModelProto> parse_proto(std::span<const std::byte> file,
                                              const std::string& where) {
  const auto proto = std::make_shared<ModelProto>();
  const bool fits = file.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  if (fits && proto->ParseFromArray(file.data(), static_cast<int>(file.size()))) return proto;
  fail({.what = "not a SentencePiece model, or a damaged one",
        .where = where,
        .advice = "download the file again"});
}

void read_piece(const ModelProto::Piece& piece, const std::string& where, SentencePiece& model) {
  const auto type = token_type(piece.type());
  require_utf8(piece.piece(), where + ".piece");
  if (piece.piece().empty() || std::isnan(piece.score())) {
    fail({.what = piece.piece().empty() ? "a piece has no text" : "a score is not a number",
          .where = where});
  }
  if (!type) {
    fail({.what = "unknown type of a piece",
          .where = where + ".type",
          .expected = "1 to 6",
          .found = std::to_string(piece.type())});
  }
  model.vocabulary.tokens.push_back(piece.piece());
  model.vocabulary.types.push_back(*type);
  model.scores.push_back(piece.score());
}

void read_settings(const ModelProto& proto, const std::string& where, SentencePiece& model) {
  const auto& trainer = proto.trainer_spec();
  const auto& normalizer = proto.normalizer_spec();
  if (trainer.model_type() != kUnigram && trainer.model_type() != kBpe) {
    refuse(where, "trainer_spec.model_type", std::to_string(trainer.model_type()));
  }
  if (trainer.treat_whitespace_as_suffix()) {
    refuse(where, "trainer_spec.treat_whitespace_as_suffix", "true");
  }
  if (!normalizer.escape_whitespaces()) {
    refuse(where, "normalizer_spec.escape_whitespaces", "false");
  }
  if (!proto.denormalizer_spec().precompiled_charsmap().empty()) {
    refuse(where, "denormalizer_spec.precompiled_charsmap", "a map");
  }
  model.kind =
      trainer.model_type() == kBpe ? SentencePiece::Kind::bpe : SentencePiece::Kind::unigram;
  model.byte_fallback = trainer.byte_fallback();
  model.charsmap = std::as_bytes(std::span(normalizer.precompiled_charsmap()));
  model.add_dummy_prefix = normalizer.add_dummy_prefix();
  model.remove_extra_whitespaces = normalizer.remove_extra_whitespaces();
}

/// The trainer's id where it is that of a control token, as SentencePiece's own bos_id() asks.
std::optional<int64_t> control_id(const Vocabulary& vocabulary, int64_t id) {
  if (id < 0 || static_cast<size_t>(id) >= vocabulary.tokens.size()) return std::nullopt;
  if (vocabulary.types[static_cast<size_t>(id)] != TokenType::control) return std::nullopt;
  return id;
}

void check_vocabulary(const SentencePiece& model, const std::string& where) {
  if (model.vocabulary.tokens.empty()) {
    fail({.what = "the tokenizer has no vocabulary",
          .where = where,
          .advice = "download the file again"});
  }
  model.vocabulary.require_unique(where);
  if (!model.specials.unknown) {
    fail({.what = "the tokenizer has no unknown token", .where = where});
  }
  if (model.byte_fallback && !model.vocabulary.has_all_bytes()) {
    fail({.what = "the tokenizer falls back to bytes that it does not have",
          .where = where + ": trainer_spec.byte_fallback",
          .expected = "256 tokens for bytes"});
  }
}

}  // namespace

SentencePieceFile parse_sentencepiece(std::span<const std::byte> file, const std::string& where) {
  const std::shared_ptr<const ModelProto> proto = parse_proto(file, where);
  SentencePieceFile out{{}, proto};
  SentencePiece& model = out.model;
  for (int i = 0; i < proto->pieces_size(); ++i) {
    read_piece(proto->pieces(i), where + ": pieces[" + std::to_string(i) + "]", model);
  }
  read_settings(*proto, where, model);
  const auto& trainer = proto->trainer_spec();
  const Vocabulary& vocabulary = model.vocabulary;
  model.specials = {control_id(vocabulary, trainer.bos_id()),
                    control_id(vocabulary, trainer.eos_id()), vocabulary.unknown(),
                    control_id(vocabulary, trainer.pad_id())};
  check_vocabulary(model, where);
  return out;
}

}  // namespace lathe
