#include "checkpoint/sentencepiece_model.h"

#include <cmath>
#include <optional>

#include "checkpoint/protobuf_fields.h"
#include "support/error.h"

namespace lathe {
namespace {

[[noreturn]] void refuse(const std::string& where, const char* setting, std::string found) {
  fail({.what = "tokenizers with this setting are not supported",
        .where = where + ": " + setting,
        .found = std::move(found),
        .advice = "use a checkpoint of the model with a tokenizer.json"});
}

// Numbers of fields and values of enumerations: sentencepiece_model.proto.

void read_piece(ProtobufFields fields, const ProtobufField& place, SentencePiece& model) {
  std::string_view text;
  float score = 0;
  int64_t type = static_cast<int64_t>(TokenType::normal);
  while (const auto field = fields.next()) {
    if (field->number == 1) text = field->text();
    if (field->number == 2) score = field->number32();
    if (field->number == 3) type = field->integer();
  }
  const auto known = token_type(type);
  if (text.empty() || std::isnan(score)) {
    fail({.what = text.empty() ? "a piece has no text" : "a score is not a number",
          .where = place.where()});
  }
  if (!known) {
    fail({.what = "unknown type of a piece",
          .where = place.where(),
          .expected = "1 to 6",
          .found = std::to_string(type)});
  }
  model.vocabulary.tokens.push_back(text);
  model.vocabulary.types.push_back(*known);
  model.scores.push_back(score);
}

/// Ids as the trainer was given them; negative for none.
struct TrainerIds {
  int64_t bos = 1, eos = 2, padding = -1;
};

void read_trainer(ProtobufFields fields, const std::string& where, SentencePiece& model,
                  TrainerIds& ids) {
  int64_t kind = 1;
  while (const auto field = fields.next()) {
    switch (field->number) {
      case 3:
        kind = field->integer();
        break;
      case 24:
        if (field->boolean()) refuse(where, "trainer_spec.treat_whitespace_as_suffix", "true");
        break;
      case 35:
        model.byte_fallback = field->boolean();
        break;
      case 41:
        ids.bos = field->integer();
        break;
      case 42:
        ids.eos = field->integer();
        break;
      case 43:
        ids.padding = field->integer();
        break;
      default:
        break;
    }
  }
  if (kind != 1 && kind != 2) {
    const char* name = kind == 3 ? "3 (WORD)" : kind == 4 ? "4 (CHAR)" : "";
    refuse(where, "trainer_spec.model_type", *name != 0 ? name : std::to_string(kind));
  }
  model.kind = kind == 1 ? SentencePiece::Kind::unigram : SentencePiece::Kind::bpe;
}

void read_normalizer(ProtobufFields fields, const std::string& where, SentencePiece& model) {
  while (const auto field = fields.next()) {
    if (field->number == 2) model.charsmap = field->message();
    if (field->number == 3) model.add_dummy_prefix = field->boolean();
    if (field->number == 4) model.remove_extra_whitespaces = field->boolean();
    if (field->number == 5 && !field->boolean()) {
      refuse(where, "normalizer_spec.escape_whitespaces", "false");
    }
  }
}

void refuse_denormalizer(ProtobufFields fields, const std::string& where) {
  while (const auto field = fields.next()) {
    if (field->number == 2 && !field->message().empty()) {
      refuse(where, "denormalizer_spec.precompiled_charsmap", "a map");
    }
  }
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

SentencePiece parse_sentencepiece(std::span<const std::byte> file, const std::string& where) {
  SentencePiece model;
  TrainerIds ids;
  ProtobufFields fields(file, where);
  while (const auto field = fields.next()) {
    if (field->number == 1) read_piece(fields.within(*field), *field, model);
    if (field->number == 2) read_trainer(fields.within(*field), where, model, ids);
    if (field->number == 3) read_normalizer(fields.within(*field), where, model);
    if (field->number == 5) refuse_denormalizer(fields.within(*field), where);
  }
  model.specials = {control_id(model.vocabulary, ids.bos), control_id(model.vocabulary, ids.eos),
                    model.vocabulary.unknown(), control_id(model.vocabulary, ids.padding)};
  check_vocabulary(model, where);
  return model;
}

}  // namespace lathe
