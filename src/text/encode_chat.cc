#include "text/encode_chat.h"

#include <algorithm>
#include <string_view>

#include "support/error.h"
#include "text/control_marks.h"

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

/// Fields that hold what somebody wrote. All others are words that templates compare and build
/// control tokens from ('<|' + role + '|>'), so only whole spellings are marked in them.
bool is_prose(std::string_view key) {
  return key == "content" || key == "text" || key == "reasoning_content";
}

Json marked(const Json& value, bool prose, const std::vector<std::string>& specials,
            char32_t mark) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return prose ? mark_message(text, specials, mark) : mark_spellings(text, specials, mark);
  }
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) out.push_back(marked(item, prose, specials, mark));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, item] : value.items()) {
    out[mark_spellings(key, specials, mark)] = marked(item, is_prose(key), specials, mark);
  }
  return out;
}

}  // namespace

Json chat_context(const std::vector<ChatMessage>& messages, const Json& special_tokens,
                  const ChatOptions& options) {
  if (!options.arguments.is_object() || options.arguments.contains("messages")) {
    fail({.what = "the arguments of the chat template are not valid",
          .expected = "variables by their names, and none called messages"});
  }
  Json context = special_tokens;
  context["messages"] = Json::array();
  for (const ChatMessage& message : messages) {
    Json fields = {{"role", message.role}, {"content", message.content}};
    fields.update(message.more);
    context["messages"].push_back(std::move(fields));
  }
  context["tools"] = nullptr;
  context["documents"] = nullptr;
  context["add_generation_prompt"] = true;
  context.update(options.arguments);
  return context;
}

std::vector<int64_t> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                 const std::vector<ChatMessage>& messages,
                                 const Json& special_tokens, const std::vector<int64_t>& lead,
                                 const ChatOptions& options) {
  Json context = chat_context(messages, special_tokens, options);
  ChatTemplate::require_renderable(context);
  const std::vector<std::string>& specials = tokenizer.special_tokens();
  const char32_t mark = unused_mark({chat_template.source(), context.dump()});
  for (const auto& [name, value] : context.items()) {
    const bool from_user = name == "messages" || options.arguments.contains(name);
    if (from_user) value = marked(value, false, specials, mark);
  }
  std::vector<int64_t> ids =
      tokenizer.encode_marked(chat_template.render(context, options.now), mark);

  const bool has_lead =
      ids.size() >= lead.size() && std::equal(lead.begin(), lead.end(), ids.begin());
  if (!has_lead) ids.insert(ids.begin(), lead.begin(), lead.end());
  return ids;
}

}  // namespace lathe
