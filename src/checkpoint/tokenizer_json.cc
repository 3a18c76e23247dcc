#include "checkpoint/tokenizer_json.h"

#include <utility>

namespace lathe {
namespace {

using Json = nlohmann::json;

Json first_tokens(const Vocabulary& vocabulary, size_t size) {
  Json vocab = Json::object();
  for (size_t id = 0; id < size; ++id) vocab[std::string(vocabulary.tokens[id])] = id;
  return vocab;
}

}  // namespace

Json whole_vocab(const Vocabulary& vocabulary) {
  return first_tokens(vocabulary, vocabulary.tokens.size());
}

Json vocab_before_added(const Vocabulary& vocabulary) {
  size_t size = vocabulary.tokens.size();
  while (size > 0 && vocabulary.is_added(size - 1)) --size;
  return first_tokens(vocabulary, size);
}

Json added_tokens(const Vocabulary& vocabulary) {
  Json added = Json::array();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!vocabulary.is_added(id)) continue;
    added.push_back({{"id", id},
                     {"content", vocabulary.tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", vocabulary.types[id] != TokenType::user_defined}});
  }
  return added;
}

Json bpe_model(Json vocab, Json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

Json post_processor(const Vocabulary& vocabulary, const AroundText& around) {
  if (!around.bos && !around.eos) return nullptr;
  Json ids = Json::object();
  const auto step = [&](std::optional<int64_t> id, int type) {
    const std::string token = vocabulary.text(*id);
    ids[token] = {{"id", token}, {"ids", {*id}}, {"tokens", {token}}};
    return Json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto add = [&](Json& steps, const char* text, int type) {
    if (around.bos) steps.push_back(step(around.bos, type));
    steps.push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
    if (around.eos) steps.push_back(step(around.eos, type));
  };
  Json single = Json::array();
  add(single, "A", 0);
  Json pair = single;
  add(pair, "B", 1);
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(ids)}};
}

void name_special_tokens(const Vocabulary& vocabulary, const SpecialIds& specials,
                         Json& tokenizer_config) {
  const auto name = [&](const char* key, std::optional<int64_t> id) {
    if (id && !tokenizer_config.contains(key)) tokenizer_config[key] = vocabulary.text(*id);
  };
  name("bos_token", specials.bos);
  name("eos_token", specials.eos);
  name("unk_token", specials.unknown);
  name("pad_token", specials.padding);
}

std::string tokenizer_json(Json parts, Json added, Json post) {
  parts["version"] = "1.0";
  parts["truncation"] = nullptr;
  parts["padding"] = nullptr;
  parts["added_tokens"] = std::move(added);
  parts["post_processor"] = std::move(post);
  return parts.dump();
}

}  // namespace lathe
