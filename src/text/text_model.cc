#include "text/text_model.h"

#include <array>
#include <map>
#include <utility>

#include "support/error.h"
#include "text/builtin_templates.h"

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

constexpr const char* kDefault = "default";
constexpr const char* kToolUse = "tool_use";

/// The chat templates of tokenizer_config.json by name: one text, or a list of named ones.
std::map<std::string, std::string> templates_of(const Json& config) {
  std::map<std::string, std::string> out;
  const auto entry = config.find("chat_template");
  if (entry == config.end()) return out;
  if (entry->is_string()) out[kDefault] = entry->get<std::string>();
  if (!entry->is_array()) return out;
  for (const Json& named : *entry) {
    if (!named.is_object()) continue;
    const Json name = named.value("name", Json());
    const Json source = named.value("template", Json());
    if (name.is_string() && source.is_string()) out[name.get<std::string>()] = source;
  }
  return out;
}

bool has_tools(const Json& arguments) {
  return arguments.is_object() && arguments.contains("tools") && !arguments["tools"].empty();
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
  model.read_templates(config, chat_template);
  return model;
}

void TextModel::read_templates(const Json& config, std::string_view chat_template) {
  named_templates_ = templates_of(config);
  const auto plain = named_templates_.extract(kDefault);
  const std::string source = !chat_template.empty() ? std::string(chat_template)
                             : plain.empty()        ? std::string()
                                                    : plain.mapped();
  if (!source.empty()) chat_template_ = parse_template(source);
}

void TextModel::read_special_tokens(const Json& config) {
  for (const char* name : kSpecialNames) {
    const auto token = config.find(name);
    if (token == config.end()) continue;
    if (auto content = content_of(*token)) special_tokens_[name] = std::move(*content);
  }
  // Names of a model's own, such as Gemma 3's "boi_token".
  const auto extra = config.find("extra_special_tokens");
  if (extra != config.end() && extra->is_object()) {
    for (const auto& [name, token] : extra->items()) {
      if (auto content = content_of(token)) special_tokens_[name] = std::move(*content);
    }
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

ChatTemplate TextModel::parse_template(const std::string& source) const {
  return ChatTemplate::parse(source, where_ + ": chat template");
}

ChatTemplate TextModel::named_template(const std::string& name) const {
  if (name == kDefault && chat_template_) return *chat_template_;
  const auto found = named_templates_.find(name);
  if (found != named_templates_.end()) return parse_template(found->second);
  if (const auto source = builtin_template(name)) return ChatTemplate::parse(*source);
  std::string names = chat_template_ ? kDefault : "";
  for (const auto& item : named_templates_) names += (names.empty() ? "" : ", ") + item.first;
  if (names.empty() && name == kDefault) {
    fail({.what = "the model has no chat template",
          .where = where_,
          .advice = "use a raw prompt, or choose a template: a .jinja file or one of " +
                    builtin_template_names()});
  }
  names += (names.empty() ? "" : ", ") + builtin_template_names();
  fail({.what = "the model has no chat template of this name",
        .where = where_,
        .expected = names,
        .found = printable(name, 80)});
}

ChatTemplate TextModel::template_for(const ChatOptions& options) const {
  if (!options.template_source.empty()) {
    return ChatTemplate::parse(options.template_source, options.template_where);
  }
  if (!options.template_name.empty()) return named_template(options.template_name);
  const bool for_tools = has_tools(options.arguments) && named_templates_.contains(kToolUse);
  return named_template(for_tools ? kToolUse : kDefault);
}

std::vector<int64_t> TextModel::encode_chat(const std::vector<ChatMessage>& messages,
                                            const ChatOptions& options) const {
  return lathe::encode_chat(*tokenizer_, template_for(options), messages, special_tokens_, lead_,
                            options);
}

}  // namespace lathe
