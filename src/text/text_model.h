#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template.h"
#include "text/encode_chat.h"
#include "text/tokenizer.h"

namespace lathe {

/// All that turns text into a model's ids and back: the tokenizer, the chat template, and what
/// tokenizer_config.json says about both.
class TextModel {
 public:
  /// The raw files, as a checkpoint or an artifact holds them. `tokenizer_config_json` and
  /// `chat_template` may be empty; without a `chat_template` the one in tokenizer_config.json is
  /// taken, which may also have several of them, each with a name. `where` names the model in
  /// errors. Throws Error.
  static TextModel open(std::string_view tokenizer_json, std::string_view tokenizer_config_json,
                        std::string_view chat_template, const std::string& where);

  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  bool has_chat_template() const { return chat_template_.has_value(); }

  /// Ids of a raw prompt: control tokens parsed, and with what transformers adds by itself (BOS):
  /// `add_bos_token` and `add_eos_token` of tokenizer_config.json where one of them is there, else
  /// what tokenizer.json says.
  std::vector<int64_t> encode_prompt(std::string_view text) const;

  /// Ids of a conversation: see lathe::encode_chat. A name that the options give is one of the
  /// model's templates or a built-in one. Throws Error where there is none of that name, and where
  /// the model has no template and none is named.
  std::vector<int64_t> encode_chat(const std::vector<ChatMessage>& messages,
                                   const ChatOptions& options = {}) const;

  /// The template's variables for the control tokens: {"bos_token": "<s>", ...}.
  const nlohmann::ordered_json& special_tokens() const { return special_tokens_; }
  /// Whether a prompt begins with tokens that are not in its text.
  bool adds_bos() const { return !lead_.empty(); }

 private:
  TextModel() = default;
  void read_templates(const nlohmann::ordered_json& config, std::string_view chat_template);
  ChatTemplate parse_template(const std::string& source) const;
  ChatTemplate template_for(const ChatOptions& options) const;
  ChatTemplate named_template(const std::string& name) const;
  void read_special_tokens(const nlohmann::ordered_json& config);
  void read_added_tokens(const nlohmann::ordered_json& config);
  std::vector<int64_t> id_of_special(const std::string& name) const;

  std::string where_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_template_;           // the one called "default"
  std::map<std::string, std::string> named_templates_;  // sources of the others
  nlohmann::ordered_json special_tokens_ = nlohmann::ordered_json::object();
  std::vector<int64_t> lead_;   // ids before a prompt
  std::vector<int64_t> trail_;  // ids behind it
};

}  // namespace lathe
