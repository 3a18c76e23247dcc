#include "checkpoint/hf_text.h"

#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "checkpoint/hf_sentencepiece.h"
#include "support/error.h"
#include "support/json.h"
#include "support/lfs_pointer.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// Tokenizers of large vocabularies come close to 40 MB.
constexpr size_t kMaxTokenizer = size_t{256} << 20;

constexpr std::string_view kTokenizer = "tokenizer.json";
constexpr std::string_view kSentencePiece = "tokenizer.model";
constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";

std::string read_checked(const fs::path& path, size_t limit) {
  std::string text = read_text_file(path, limit);
  refuse_lfs_pointer(std::string_view(text), path.string());
  return text;
}

/// A token as the configs write it: its text, or an object with the text under "content".
std::optional<std::string> token_text(const nlohmann::json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (!token.is_object()) return std::nullopt;
  const auto content = token.find("content");
  if (content == token.end() || !content->is_string()) return std::nullopt;
  return content->get<std::string>();
}

/// Chat templates by name: one called "default", or several.
using Templates = std::map<std::string, std::string>;

constexpr const char* kTemplate = "chat_template";
constexpr const char* kDefault = "default";

/// "chat_template": a string, or a list of {name, template}.
Templates templates_of(const JsonFields& fields) {
  Templates out;
  const nlohmann::json* value = fields.find(kTemplate);
  if (value == nullptr) return out;
  if (!value->is_array()) {
    out[kDefault] = fields.string(kTemplate);
    return out;
  }
  for (const nlohmann::json& item : *value) {
    const JsonFields named(item, fields.place(kTemplate));
    out[named.string("name")] = named.string("template");
  }
  return out;
}

/// chat_template.jinja and additional_chat_templates/NAME.jinja.
Templates template_files(const fs::path& folder) {
  Templates out;
  const fs::path plain = folder / "chat_template.jinja";
  if (file_exists(plain)) out[kDefault] = read_checked(plain, kMaxTokenizer);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "additional_chat_templates", error)) {
    if (entry.path().extension() != ".jinja") continue;
    out[entry.path().stem().string()] = read_checked(entry.path(), kMaxTokenizer);
  }
  return out;
}

/// The templates of the first place that has any.
Templates read_templates(const fs::path& folder, const JsonFields& tokenizer_config) {
  Templates found = template_files(folder);
  if (found.empty()) found = templates_of(tokenizer_config);
  const fs::path json = folder / "chat_template.json";
  if (found.empty() && file_exists(json)) {
    const nlohmann::json parsed = read_json_file(json);
    found = templates_of(JsonFields(parsed, json.string()));
  }
  return found;
}

/// The default template becomes an asset of its own; where there are others, tokenizer_config.json
/// is what carries all of them.
void put_templates(const Templates& templates, TextAssets& text, nlohmann::json& tokenizer_config) {
  const auto plain = templates.find(kDefault);
  if (plain != templates.end()) text.chat_template = plain->second;
  tokenizer_config.erase(kTemplate);
  if (templates.size() == (plain != templates.end() ? 1 : 0)) return;
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, source] : templates) {
    list.push_back({{"name", name}, {"template", source}});
  }
  tokenizer_config[kTemplate] = std::move(list);
}

/// Adds the tokens that older checkpoints keep in special_tokens_map.json only.
void fill_in_specials(const fs::path& folder, nlohmann::json& tokenizer_config) {
  const fs::path path = folder / "special_tokens_map.json";
  if (!file_exists(path)) return;
  const nlohmann::json map = read_json_file(path);
  const JsonFields fields(map, path.string());
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    const nlohmann::json* token = fields.find(key);
    const auto present = tokenizer_config.find(key);
    if (token == nullptr || (present != tokenizer_config.end() && !present->is_null())) continue;
    tokenizer_config[key] = *token;
  }
}

std::optional<int64_t> id_in_decoder(const nlohmann::json& tokenizer_config,
                                     const std::string& text) {
  const auto decoder = tokenizer_config.find("added_tokens_decoder");
  if (decoder == tokenizer_config.end() || !decoder->is_object()) return std::nullopt;
  for (const auto& [key, token] : decoder->items()) {
    if (token_text(token) != text) continue;
    int64_t id = 0;
    const auto result = std::from_chars(key.data(), key.data() + key.size(), id);
    if (result.ec == std::errc() && result.ptr == key.data() + key.size()) return id;
  }
  return std::nullopt;
}

std::optional<int64_t> id_in_tokenizer(const nlohmann::json& tokenizer, const std::string& text) {
  if (!tokenizer.is_object()) return std::nullopt;
  if (const auto added = tokenizer.find("added_tokens");
      added != tokenizer.end() && added->is_array()) {
    for (const nlohmann::json& token : *added) {
      if (token_text(token) != text) continue;
      if (const auto id = token.find("id"); id != token.end() && id->is_number_integer()) {
        return id->get<int64_t>();
      }
    }
  }
  const auto model = tokenizer.find("model");
  if (model == tokenizer.end() || !model->is_object()) return std::nullopt;
  const auto vocab = model->find("vocab");
  if (vocab == model->end() || !vocab->is_object()) return std::nullopt;
  const auto id = vocab->find(text);
  if (id == vocab->end() || !id->is_number_integer()) return std::nullopt;
  return id->get<int64_t>();
}

}  // namespace

nlohmann::json read_json_file(const fs::path& path) {
  const std::string text = read_text_file(path);
  refuse_lfs_pointer(std::string_view(text), path.string());
  return parse_json(text, path.string());
}

TextAssets read_hf_text(const fs::path& folder, std::vector<std::string>& warnings) {
  TextAssets text;
  const fs::path config_path = folder / kTokenizerConfig;
  nlohmann::json config = nlohmann::json::object();
  if (file_exists(config_path)) {
    config = parse_json(read_checked(config_path, kMaxTokenizer), config_path.string());
  }
  put_templates(read_templates(folder, JsonFields(config, config_path.string())), text, config);
  fill_in_specials(folder, config);
  const fs::path tokenizer = folder / kTokenizer;
  const fs::path model = folder / kSentencePiece;
  if (file_exists(tokenizer)) {
    text.tokenizer_json = read_checked(tokenizer, kMaxTokenizer);
  } else if (file_exists(model)) {
    text.tokenizer_json = tokenizer_json_of(model, config);
  } else {
    warnings.push_back(folder.string() +
                       ": no tokenizer.json and no tokenizer.model, so this model cannot work with "
                       "text; save its tokenizer again with a fast tokenizer");
  }
  text.tokenizer_config_json = config.dump();
  return text;
}

std::optional<int64_t> special_token_id(const TextAssets& text, const std::string& key,
                                        const fs::path& folder) {
  const nlohmann::json config =
      parse_json(text.tokenizer_config_json, (folder / kTokenizerConfig).string());
  const auto token = config.find(key);
  const auto content = token == config.end() ? std::nullopt : token_text(*token);
  if (!content) return std::nullopt;
  if (const auto id = id_in_decoder(config, *content)) return id;
  if (text.tokenizer_json.empty()) return std::nullopt;
  return id_in_tokenizer(parse_json(text.tokenizer_json, (folder / kTokenizer).string()), *content);
}

}  // namespace lathe
