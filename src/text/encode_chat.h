#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace lathe {

/// One message of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant", "tool"
  std::string content;
  /// Further fields that templates read ("tool_calls", "reasoning_content"), as a JSON object; one
  /// of the two above takes the place of what stands there.
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
};

/// How a conversation is put into a template.
struct ChatOptions {
  /// Which of several templates. Empty: "tool_use" where the model has one and there are tools,
  /// else "default".
  std::string template_name = {};
  /// The text of a template that takes the place of all that the model has; empty for none.
  std::string template_source = {};
  /// What errors call it: the name of its file.
  std::string template_where = "chat template";
  /// More variables, or other values for those that there are: a JSON object with "tools",
  /// "enable_thinking", "add_generation_prompt" and whatever else a template asks for.
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  ClockTime now = std::nullopt;
};

/// The variables that transformers gives a template for `messages` with add_generation_prompt:
/// messages, tools and documents (none), and `special_tokens` (bos_token, eos_token and so on);
/// then options.arguments. Throws Error where those give messages, or are no object.
nlohmann::ordered_json chat_context(const std::vector<ChatMessage>& messages,
                                    const nlohmann::ordered_json& special_tokens,
                                    const ChatOptions& options = {});

/// The ids of a conversation, ready for the model: rendered with chat_context, the control tokens
/// of the template parsed, and what messages and arguments say encoded as text, so that nothing a
/// user types becomes a control token. Where none of them spells one the ids are those of Hugging
/// Face's encode(rendered, add_special_tokens=False), with `lead` (BOS) before them unless the
/// template writes it: there is never a second one.
///
/// A spelling is also kept apart where a message only completes or begins what the template writes
/// beside it. What is not covered: a template that cuts a piece out of the middle of a message, so
/// that what stood on both sides comes together.
///
/// Throws Error: what the template refuses, invalid UTF-8.
std::vector<int64_t> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                 const std::vector<ChatMessage>& messages,
                                 const nlohmann::ordered_json& special_tokens,
                                 const std::vector<int64_t>& lead, const ChatOptions& options = {});

}  // namespace lathe
