#include "text/encode_chat.h"

#include <algorithm>
#include <string_view>

#include "text/control_marks.h"

namespace lathe {

nlohmann::ordered_json chat_context(const std::vector<ChatMessage>& messages,
                                    const nlohmann::ordered_json& special_tokens) {
  nlohmann::ordered_json context = special_tokens;
  context["messages"] = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages) {
    context["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  context["tools"] = nullptr;
  context["documents"] = nullptr;
  context["add_generation_prompt"] = true;
  return context;
}

std::vector<int64_t> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                 const std::vector<ChatMessage>& messages,
                                 const nlohmann::ordered_json& special_tokens,
                                 const std::vector<int64_t>& lead, const ClockTime& now) {
  std::vector<std::string_view> texts = {chat_template.source()};
  for (const ChatMessage& message : messages) {
    texts.push_back(message.role);
    texts.push_back(message.content);
  }
  const char32_t mark = unused_mark(texts);

  // A role is a word that templates compare and build control tokens from ('<|' + role + '|>'), so
  // only whole spellings are marked in it.
  std::vector<ChatMessage> marked;
  marked.reserve(messages.size());
  for (const ChatMessage& message : messages) {
    marked.push_back({mark_spellings(message.role, tokenizer.special_tokens(), mark),
                      mark_message(message.content, tokenizer.special_tokens(), mark)});
  }
  const std::string rendered = chat_template.render(chat_context(marked, special_tokens), now);
  std::vector<int64_t> ids = tokenizer.encode_marked(rendered, mark);

  const bool has_lead =
      ids.size() >= lead.size() && std::equal(lead.begin(), lead.end(), ids.begin());
  if (!has_lead) ids.insert(ids.begin(), lead.begin(), lead.end());
  return ids;
}

}  // namespace lathe
