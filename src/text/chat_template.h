#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lathe {

/// The fixed local time for strftime_now ("2024-07-04T09:05:07"), or the machine's clock.
using ClockTime = std::optional<std::string>;

/// A chat template, rendered as transformers renders it (trim_blocks, lstrip_blocks,
/// raise_exception, strftime_now, tojson, {% generation %}, loop controls, methods of Python's str,
/// dict and list): minijinja behind a C ABI (rust/text). What one rendering may do is limited.
class ChatTemplate {
 public:
  /// Throws Error with the template line for a syntax error; `where` names the template in errors.
  static ChatTemplate parse(std::string_view source, std::string where = "chat template");

  /// Throws Error where the variables are nested too deeply or hold text that is not UTF-8.
  static void require_renderable(const nlohmann::ordered_json& context);

  /// Renders with exactly the variables of `context` (a JSON object, whose order templates can
  /// see). Throws Error: an undefined function, raise_exception's message, a type error, a loop
  /// without end; with the template line where known.
  std::string render(const nlohmann::ordered_json& context,
                     const ClockTime& now = std::nullopt) const;

  const std::string& source() const { return source_; }

 private:
  ChatTemplate(std::string_view source, std::string where)
      : source_(source), where_(std::move(where)) {}
  std::string source_;
  std::string where_;
};

}  // namespace lathe
