#include "checkpoint/hf_sentencepiece.h"

#include <charconv>
#include <map>
#include <utility>

#include "checkpoint/sentencepiece_model.h"
#include "checkpoint/tokenizer_json.h"
#include "support/error.h"
#include "support/json.h"
#include "support/lfs_pointer.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int64_t kMaxId = int64_t{1} << 31;

/// Tokens that a folder adds to its model, as tokenizer.json writes them, and where they were read.
struct AddedTokens {
  std::map<int64_t, Json> by_id;
  std::string where;
};

int64_t parse_id(const std::string& text, const std::string& where) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size() && id >= 0 && id < kMaxId) return id;
  fail({.what = "malformed token id",
        .where = where,
        .expected = "a number",
        .found = '"' + printable(text, 40) + '"'});
}

Json added_token(int64_t id, const std::string& content, const JsonFields* flags) {
  const auto flag = [&](const char* key) {
    return flags != nullptr && flags->optional_boolean(key).value_or(false);
  };
  return {{"id", id},
          {"content", content},
          {"single_word", flag("single_word")},
          {"lstrip", flag("lstrip")},
          {"rstrip", flag("rstrip")},
          {"normalized", flag("normalized")},
          {"special", flags == nullptr || flag("special")}};
}

/// {"32000": {"content": "<|user|>", "special": true, ...}, ...}
AddedTokens read_decoder(const Json& decoder, const std::string& where) {
  AddedTokens out{{}, where};
  for (const auto& [key, token] : decoder.items()) {
    const std::string place = where + '.' + printable(key, 40);
    const JsonFields flags(token, place);
    const int64_t id = parse_id(key, where);
    out.by_id[id] = added_token(id, flags.string("content"), &flags);
  }
  return out;
}

/// {"<|user|>": 32000, ...}
AddedTokens read_map(const fs::path& path) {
  AddedTokens out{{}, path.string()};
  const std::string text = read_text_file(path);
  const Json map = parse_json(text, path.string());
  const JsonFields fields(map, path.string());
  for (const auto& item : map.items()) {
    const int64_t id = fields.integer(item.key(), 0, kMaxId - 1);
    out.by_id[id] = added_token(id, item.key(), nullptr);
  }
  return out;
}

AddedTokens read_added(const fs::path& model_path, const JsonFields& tokenizer_config) {
  constexpr std::string_view kDecoder = "added_tokens_decoder";
  if (tokenizer_config.find(kDecoder) != nullptr) {
    return read_decoder(tokenizer_config.object(kDecoder), tokenizer_config.place(kDecoder));
  }
  const fs::path map = model_path.parent_path() / "added_tokens.json";
  return file_exists(map) ? read_map(map) : AddedTokens{};
}

/// The model's own added tokens and those of the folder, in the order of ids, none left out.
Json unite(const Vocabulary& vocabulary, AddedTokens added) {
  const auto size = static_cast<int64_t>(vocabulary.tokens.size());
  for (Json& token : added_tokens(vocabulary)) {
    const int64_t id = token["id"];
    added.by_id.emplace(id, std::move(token));
  }
  Json all = Json::array();
  int64_t next = size;
  for (auto& [id, token] : added.by_id) {
    const std::string content = token["content"];
    if (id < size ? content != vocabulary.text(id) : id != next++) {
      fail({.what = "an added token does not fit the model",
            .where = added.where,
            .expected = id < size ? '"' + printable(vocabulary.text(id), 40) + '"'
                                  : "id " + std::to_string(next - 1),
            .found = '"' + printable(content, 40) + "\" with id " + std::to_string(id)});
    }
    all.push_back(std::move(token));
  }
  return all;
}

}  // namespace

std::string tokenizer_json_of(const fs::path& model_path, Json& tokenizer_config) {
  const MappedFile file = MappedFile::open(model_path);
  const std::string where = model_path.string();
  refuse_lfs_pointer(file.bytes(), where);
  auto [model, storage] = parse_sentencepiece(file.bytes(), where);
  const JsonFields fields(tokenizer_config,
                          (model_path.parent_path() / "tokenizer_config.json").string());
  model.add_dummy_prefix =
      fields.optional_boolean("add_prefix_space").value_or(model.add_dummy_prefix);
  model.prefix_every_part = fields.optional_boolean("legacy").value_or(true);
  Json added = unite(model.vocabulary, read_added(model_path, fields));
  // What transformers' classes for such models do unless they are told otherwise.
  const AroundText around{model.specials.bos, std::nullopt};
  Json post = post_processor(model.vocabulary, around);
  name_special_tokens(model.vocabulary, model.specials, tokenizer_config);
  return tokenizer_json(sentencepiece_json(model, where), std::move(added), std::move(post));
}

}  // namespace lathe
