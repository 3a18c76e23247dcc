#include "checkpoint/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "checkpoint/gguf_merges.h"
#include "checkpoint/gguf_pre_tokenizer.h"
#include "checkpoint/gguf_vocabulary.h"
#include "support/error.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSpace =
    "\xE2\x96\x81";  // U+2581, which SentencePiece writes for a space

/// Names of tokens that end a turn, in the published chat models.
constexpr std::array<std::string_view, 5> kEndOfTurn{"<|im_end|>", "<|eot_id|>", "<|eom_id|>",
                                                     "<|end|>", "<end_of_turn>"};

/// The token that the metadata gives an id of, checked against the vocabulary.
std::optional<int64_t> special_id(const Gguf& gguf, const GgufVocabulary& vocabulary,
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

/// The ids that stand for themselves at the beginning and the end of a text.
struct Specials {
  std::optional<int64_t> bos, eos, unknown, padding;
};

Json added_tokens(const GgufVocabulary& vocabulary) {
  Json added = Json::array();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!vocabulary.is_added(id)) continue;
    added.push_back({{"id", id},
                     {"content", vocabulary.tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", vocabulary.types[id] != GgufTokenType::user_defined}});
  }
  return added;
}

/// The model's own vocabulary. Added tokens at its end are left out: `tokenizers` numbers them on
/// from there, and a tokenizer with ignore_merges could reach them from plain text otherwise.
Json model_vocab(const GgufVocabulary& vocabulary) {
  size_t size = vocabulary.tokens.size();
  while (size > 0 && vocabulary.is_added(size - 1)) --size;
  Json vocab = Json::object();
  for (size_t id = 0; id < size; ++id) vocab[std::string(vocabulary.tokens[id])] = id;
  return vocab;
}

Json bpe_model(const GgufVocabulary& vocabulary, Json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", model_vocab(vocabulary)},
          {"merges", std::move(merges)}};
}

/// Adds BOS and EOS around a text, as the flags of the file say; null where neither is added.
Json post_processor(const Gguf& gguf, const GgufVocabulary& vocabulary, const Specials& specials,
                    bool bos_by_default) {
  Json ids = Json::object();
  const auto special = [&](std::optional<int64_t> id, std::string_view flag, bool by_default) {
    std::string token;
    if (!gguf.boolean(flag).value_or(by_default)) return token;
    if (!id) {
      fail({.what = "the tokenizer adds a token that it does not name",
            .where = gguf.where() + ": " + std::string(flag)});
    }
    token = std::string(vocabulary.tokens[static_cast<size_t>(*id)]);
    ids[token] = {{"id", token}, {"ids", {*id}}, {"tokens", {token}}};
    return token;
  };
  const std::string bos =
      special(specials.bos, "tokenizer.ggml.add_bos_token", bos_by_default && specials.bos);
  const std::string eos = special(specials.eos, "tokenizer.ggml.add_eos_token", false);
  if (ids.empty()) return nullptr;
  const auto around = [&](Json& steps, const char* text, int type) {
    if (!bos.empty()) steps.push_back({{"SpecialToken", {{"id", bos}, {"type_id", type}}}});
    steps.push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
    if (!eos.empty()) steps.push_back({{"SpecialToken", {{"id", eos}, {"type_id", type}}}});
  };
  Json single = Json::array();
  around(single, "A", 0);
  Json pair = single;
  around(pair, "B", 1);
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(ids)}};
}

Json byte_level_tokenizer(const Gguf& gguf, const GgufVocabulary& vocabulary,
                          const Specials& specials, std::vector<std::string>& warnings) {
  constexpr std::string_view kPre = "tokenizer.ggml.pre";
  const auto name = gguf.string(kPre);
  if (!name) {
    warnings.push_back(gguf.where() +
                       ": the file does not name its pre-tokenizer; GPT-2's is used, which may cut "
                       "words differently from how the model learned them");
  }
  PreTokenizer pre =
      gguf_pre_tokenizer(name.value_or("default"), gguf.where() + ": " + std::string(kPre));
  Json model = bpe_model(vocabulary, stored_merges(gguf, vocabulary));
  model["ignore_merges"] = pre.ignore_merges;
  return {{"normalizer", std::move(pre.normalizer)},
          {"pre_tokenizer", std::move(pre.pre_tokenizer)},
          {"post_processor", post_processor(gguf, vocabulary, specials, pre.ignore_merges)},
          {"decoder",
           {{"type", "ByteLevel"},
            {"add_prefix_space", true},
            {"trim_offsets", true},
            {"use_regex", true}}},
          {"model", std::move(model)}};
}

/// Throws for text clean-up that SentencePiece models of this kind do not have.
void refuse_text_cleanup(const Gguf& gguf) {
  constexpr std::string_view kCollapse = "tokenizer.ggml.remove_extra_whitespaces";
  constexpr std::string_view kCharacters = "tokenizer.ggml.precompiled_charsmap";
  const bool collapse = gguf.boolean(kCollapse).value_or(false);
  if (!collapse && !gguf.metadata().contains(kCharacters)) return;
  fail({.what = "tokenizers with this setting are not supported",
        .where = gguf.where() + ": " + std::string(collapse ? kCollapse : kCharacters),
        .advice = "use the Hugging Face checkpoint of the model"});
}

Json sentencepiece_tokenizer(const Gguf& gguf, const GgufVocabulary& vocabulary,
                             const Specials& specials) {
  refuse_text_cleanup(gguf);
  Json model = bpe_model(vocabulary, scored_merges(gguf, vocabulary));
  if (specials.unknown) {
    model["unk_token"] = vocabulary.tokens[static_cast<size_t>(*specials.unknown)];
    model["fuse_unk"] = true;
  }
  model["byte_fallback"] = vocabulary.has_all_bytes();

  const bool prefix = gguf.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  Json normalizers = Json::array();
  if (prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}});
  Json decoders = Json::array();
  decoders.push_back({{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}});
  decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (prefix) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return {{"normalizer", {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", post_processor(gguf, vocabulary, specials, true)},
          {"decoder", {{"type", "Sequence"}, {"decoders", std::move(decoders)}}},
          {"model", std::move(model)}};
}

Json tokenizer_config(const GgufVocabulary& vocabulary, const Specials& specials) {
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false}};
  const auto name = [&](const char* key, std::optional<int64_t> id) {
    if (id) config[key] = vocabulary.tokens[static_cast<size_t>(*id)];
  };
  name("bos_token", specials.bos);
  name("eos_token", specials.eos);
  name("unk_token", specials.unknown);
  name("pad_token", specials.padding);
  return config;
}

std::vector<int64_t> end_ids(const Gguf& gguf, const GgufVocabulary& vocabulary,
                             const Specials& specials) {
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
    if (ends && vocabulary.types[id] == GgufTokenType::control) {
      ids.push_back(static_cast<int64_t>(id));
    }
  }
  return ids;
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
  if (*model != "gpt2" && *model != "llama") {
    fail({.what = "this kind of tokenizer is not supported",
          .where = gguf.where() + ": " + std::string(kModel),
          .expected = "\"gpt2\" or \"llama\"",
          .found = '"' + printable(*model, 40) + '"'});
  }
  const bool sentencepiece = *model == "llama";
  const GgufVocabulary vocabulary = read_vocabulary(gguf);
  Specials specials{special_id(gguf, vocabulary, "tokenizer.ggml.bos_token_id"),
                    special_id(gguf, vocabulary, "tokenizer.ggml.eos_token_id"),
                    special_id(gguf, vocabulary, "tokenizer.ggml.unknown_token_id"),
                    special_id(gguf, vocabulary, "tokenizer.ggml.padding_token_id")};
  if (sentencepiece && !specials.unknown) specials.unknown = vocabulary.unknown();

  Json tokenizer = sentencepiece ? sentencepiece_tokenizer(gguf, vocabulary, specials)
                                 : byte_level_tokenizer(gguf, vocabulary, specials, warnings);
  tokenizer["version"] = "1.0";
  tokenizer["truncation"] = nullptr;
  tokenizer["padding"] = nullptr;
  tokenizer["added_tokens"] = added_tokens(vocabulary);
  out.assets.tokenizer_json = tokenizer.dump();
  out.assets.tokenizer_config_json = tokenizer_config(vocabulary, specials).dump();
  out.eos_ids = end_ids(gguf, vocabulary, specials);
  out.bos_id = specials.bos;
  return out;
}

}  // namespace lathe
