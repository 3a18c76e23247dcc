#include "checkpoint/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "checkpoint/gguf_merges.h"
#include "checkpoint/gguf_pre_tokenizer.h"
#include "checkpoint/gguf_sentencepiece.h"
#include "checkpoint/gguf_vocabulary.h"
#include "checkpoint/tokenizer_json.h"
#include "support/error.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

/// Names of tokens that end a turn, in the published chat models.
constexpr std::array<std::string_view, 5> kEndOfTurn{"<|im_end|>", "<|eot_id|>", "<|eom_id|>",
                                                     "<|end|>", "<end_of_turn>"};

/// The token that the metadata gives an id of, checked against the vocabulary.
std::optional<int64_t> special_id(const Gguf& gguf, const Vocabulary& vocabulary,
                                  std::string_view key) {
  const auto id = gguf.integer(key);
  if (!id) return std::nullopt;
  if (*id < 0 || static_cast<size_t>(*id) >= vocabulary.tokens.size()) {
    fail({.what = "token id outside of the vocabulary",
          .where = gguf.where() + ": " + std::string(key),
          .expected = "0 to " + std::to_string(vocabulary.tokens.size() - 1),
          .found = std::to_string(*id)});
  }
  return id;
}

/// The token where `flag` of the file, or else `by_default`, says that it is added to a text.
std::optional<int64_t> if_added(const Gguf& gguf, std::string_view flag, bool by_default,
                                std::optional<int64_t> token) {
  const auto said = gguf.boolean(flag);
  if (!said.value_or(by_default)) return std::nullopt;
  if (said && !token) {
    fail({.what = "the tokenizer adds a token that it does not name",
          .where = gguf.where() + ": " + std::string(flag)});
  }
  return token;
}

AroundText around_text(const Gguf& gguf, const SpecialIds& specials, bool bos_by_default,
                       bool eos_by_default) {
  return {if_added(gguf, "tokenizer.ggml.add_bos_token", bos_by_default, specials.bos),
          if_added(gguf, "tokenizer.ggml.add_eos_token", eos_by_default, specials.eos)};
}

std::string byte_level_tokenizer(const Gguf& gguf, const Vocabulary& vocabulary,
                                 const SpecialIds& specials, std::vector<std::string>& warnings) {
  constexpr std::string_view kPre = "tokenizer.ggml.pre";
  const auto name = gguf.string(kPre);
  if (!name) {
    warnings.push_back(gguf.where() +
                       ": the file does not name its pre-tokenizer; GPT-2's is used, which may cut "
                       "words differently from how the model learned them");
  }
  PreTokenizer pre =
      gguf_pre_tokenizer(name.value_or("default"), gguf.where() + ": " + std::string(kPre));
  Json model = bpe_model(vocab_before_added(vocabulary), stored_merges(gguf, vocabulary));
  model["ignore_merges"] = pre.ignore_merges;
  Json parts{{"normalizer", std::move(pre.normalizer)},
             {"pre_tokenizer", std::move(pre.pre_tokenizer)},
             {"decoder",
              {{"type", "ByteLevel"},
               {"add_prefix_space", true},
               {"trim_offsets", true},
               {"use_regex", true}}},
             {"model", std::move(model)}};
  return tokenizer_json(
      std::move(parts), added_tokens(vocabulary),
      post_processor(vocabulary, around_text(gguf, specials, pre.adds_bos, false)));
}

std::string sentencepiece_tokenizer(const Gguf& gguf, SentencePiece::Kind kind,
                                    const Vocabulary& vocabulary, SpecialIds& specials) {
  const auto [model, restored] = gguf_sentencepiece(gguf, kind, vocabulary, specials);
  specials = model.specials;
  const bool bpe = kind == SentencePiece::Kind::bpe;
  return tokenizer_json(sentencepiece_json(model, gguf.where() + ": tokenizer.ggml.tokens"),
                        added_tokens(model.vocabulary),
                        post_processor(model.vocabulary, around_text(gguf, specials, bpe, !bpe)));
}

std::vector<int64_t> end_ids(const Gguf& gguf, const Vocabulary& vocabulary,
                             const SpecialIds& specials) {
  std::vector<int64_t> ids;
  const auto add = [&](std::optional<int64_t> id) {
    if (id) ids.push_back(*id);
  };
  add(specials.eos);
  add(special_id(gguf, vocabulary, "tokenizer.ggml.eot_token_id"));
  add(special_id(gguf, vocabulary, "tokenizer.ggml.eom_token_id"));
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const bool ends =
        std::find(kEndOfTurn.begin(), kEndOfTurn.end(), vocabulary.tokens[id]) != kEndOfTurn.end();
    if (ends && vocabulary.types[id] == TokenType::control) {
      ids.push_back(static_cast<int64_t>(id));
    }
  }
  return ids;
}

/// Templates with a name go into tokenizer_config.json, as a list that has the default one too.
void read_named_templates(const Gguf& gguf, const std::string& plain, Json& tokenizer_config) {
  const auto* names = gguf.strings("tokenizer.chat_templates");
  if (names == nullptr) return;
  Json list = Json::array();
  if (!plain.empty()) list.push_back({{"name", "default"}, {"template", plain}});
  for (const std::string_view name : *names) {
    const auto source = gguf.string("tokenizer.chat_template." + std::string(name));
    if (source) list.push_back({{"name", name}, {"template", *source}});
  }
  tokenizer_config["chat_template"] = std::move(list);
}

/// The kind of SentencePiece model that `tokenizer.ggml.model` names; nothing for byte-level BPE.
std::optional<SentencePiece::Kind> kind_of(std::string_view model, const std::string& where) {
  if (model == "gpt2") return std::nullopt;
  if (model == "llama") return SentencePiece::Kind::bpe;
  if (model == "t5") return SentencePiece::Kind::unigram;
  fail({.what = "this kind of tokenizer is not supported",
        .where = where,
        .expected = R"("gpt2", "llama" or "t5")",
        .found = '"' + printable(model, 40) + '"'});
}

}  // namespace

GgufText gguf_text(const Gguf& gguf, std::vector<std::string>& warnings) {
  constexpr std::string_view kModel = "tokenizer.ggml.model";
  GgufText out;
  out.assets.tokenizer_config_json = "{}";
  out.assets.chat_template = std::string(gguf.string("tokenizer.chat_template").value_or(""));
  const auto model = gguf.string(kModel);
  if (!model || *model == "none" || *model == "no_vocab") {
    warnings.push_back(gguf.where() +
                       ": the file has no tokenizer, so this model cannot work with text");
    return out;
  }
  const auto kind = kind_of(*model, gguf.where() + ": " + std::string(kModel));
  const Vocabulary vocabulary = read_vocabulary(gguf);
  SpecialIds specials{special_id(gguf, vocabulary, "tokenizer.ggml.bos_token_id"),
                      special_id(gguf, vocabulary, "tokenizer.ggml.eos_token_id"),
                      special_id(gguf, vocabulary, "tokenizer.ggml.unknown_token_id"),
                      special_id(gguf, vocabulary, "tokenizer.ggml.padding_token_id")};
  out.assets.tokenizer_json = kind ? sentencepiece_tokenizer(gguf, *kind, vocabulary, specials)
                                   : byte_level_tokenizer(gguf, vocabulary, specials, warnings);
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false}};
  name_special_tokens(vocabulary, specials, config);
  read_named_templates(gguf, out.assets.chat_template, config);
  out.assets.tokenizer_config_json = config.dump();
  out.eos_ids = end_ids(gguf, vocabulary, specials);
  out.bos_id = specials.bos;
  return out;
}

}  // namespace lathe
