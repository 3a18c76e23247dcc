#include "text/text_model.h"

#include <array>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

/// The names that transformers hands to a template where tokenizer_config.json has them.
constexpr std::array kSpecialNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};

Json parse_config(std::string_view text, const std::string& where) {
  if (text.empty()) return Json::object();
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) {
    fail({.what = "tokenizer_config.json is not valid",
          .where = where,
          .expected = "a JSON object",
          .found = config.is_discarded() ? "text that is not JSON" : config.type_name()});
  }
  return config;
}

/// The text of a token written as a string or as an AddedToken object.
std::optional<std::string> content_of(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token["content"].is_string()) {
    return token["content"].get<std::string>();
  }
  return std::nullopt;
}

/// The chat template of tokenizer_config.json: a text, or a list of named ones with a "default".
std::string template_of(const Json& config) {
  const auto entry = config.find("chat_template");
  if (entry == config.end()) return {};
  if (entry->is_string()) return entry->get<std::string>();
  if (!entry->is_array()) return {};
  for (const Json& named : *entry) {
    if (named.is_object() && named.value("name", Json()) == "default" &&
        named.value("template", Json()).is_string()) {
      return named["template"].get<std::string>();
    }
  }
  return {};
}

}  // namespace

TextModel TextModel::open(std::string_view tokenizer_json, std::string_view tokenizer_config_json,
                          std::string_view chat_template, const std::string& where) {
  TextModel model;
  model.where_ = where;
  model.tokenizer_ = Tokenizer::from_json(tokenizer_json, where);
  const Json config = parse_config(tokenizer_config_json, where);
  model.read_special_tokens(config);
  model.read_added_tokens(config);
  const std::string source =
      chat_template.empty() ? template_of(config) : std::string(chat_template);
  if (!source.empty()) model.chat_template_ = ChatTemplate::parse(source);
  return model;
}

void TextModel::read_special_tokens(const Json& config) {
  for (const char* name : kSpecialNames) {
    const auto token = config.find(name);
    if (token == config.end()) continue;
    if (auto content = content_of(*token)) special_tokens_[name] = std::move(*content);
  }
  const auto more = config.find("additional_special_tokens");
  if (more == config.end() || !more->is_array() || more->empty()) return;
  Json contents = Json::array();
  for (const Json& token : *more) {
    if (auto content = content_of(token)) contents.push_back(std::move(*content));
  }
  special_tokens_["additional_special_tokens"] = std::move(contents);
}

void TextModel::read_added_tokens(const Json& config) {
  if (!config.contains("add_bos_token") && !config.contains("add_eos_token")) {
    lead_ = tokenizer_->prefix();
    trail_ = tokenizer_->suffix();
    return;
  }
  if (config.value("add_bos_token", Json()) == true) lead_ = id_of_special("bos_token");
  if (config.value("add_eos_token", Json()) == true) trail_ = id_of_special("eos_token");
}

std::vector<int64_t> TextModel::id_of_special(const std::string& name) const {
  const auto token = special_tokens_.find(name);
  if (token == special_tokens_.end()) return {};
  const auto id = tokenizer_->id_of(token->get<std::string>());
  return id ? std::vector{*id} : std::vector<int64_t>{};
}

std::vector<int64_t> TextModel::encode_prompt(std::string_view text) const {
  std::vector<int64_t> ids = tokenizer_->encode(text, /*add_special=*/false);
  ids.insert(ids.begin(), lead_.begin(), lead_.end());
  ids.insert(ids.end(), trail_.begin(), trail_.end());
  return ids;
}

std::vector<int64_t> TextModel::encode_chat(const std::vector<ChatMessage>& messages,
                                            const ClockTime& now) const {
  if (!chat_template_) {
    fail({.what = "the model has no chat template",
          .where = where_,
          .advice = "use a raw prompt, or add chat_template.jinja to the checkpoint"});
  }
  return lathe::encode_chat(*tokenizer_, *chat_template_, messages, special_tokens_, lead_, now);
}

}  // namespace lathe
