#include "text/chat_template.h"

#include <algorithm>

#include "support/error.h"
#include "text/ffi.h"

namespace lathe {
namespace {

constexpr char kWhere[] = "chat template";

/// The JSON reader on the Rust side refuses anything deeper.
constexpr int kDeepest = 120;

bool is_deeper_than(const nlohmann::ordered_json& json, int levels) {
  if (!json.is_structured()) return false;
  if (levels == 0) return true;
  return std::any_of(json.begin(), json.end(),
                     [&](const auto& item) { return is_deeper_than(item, levels - 1); });
}

/// The variables as the Rust side reads them.
std::string dump(const nlohmann::ordered_json& context) {
  if (is_deeper_than(context, kDeepest)) {
    fail({.what = "the variables are nested too deeply",
          .where = kWhere,
          .expected = "at most " + std::to_string(kDeepest) + " levels"});
  }
  try {
    return context.dump();
  } catch (const nlohmann::json::type_error&) {
    fail({.what = "the variables hold text that is not valid UTF-8", .where = kWhere});
  }
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view source, std::string where) {
  LatheOwnedText empty;
  LatheOwnedText error;
  if (!lathe_template_check(borrow(source), &empty, &error)) {
    fail({.what = printable(take(error)), .where = where});
  }
  lathe_text_free(empty);
  return {source, std::move(where)};
}

void ChatTemplate::require_renderable(const nlohmann::ordered_json& context) { dump(context); }

std::string ChatTemplate::render(const nlohmann::ordered_json& context,
                                 const ClockTime& now) const {
  const std::string json = dump(context);
  LatheOwnedText rendered;
  LatheOwnedText error;
  if (!lathe_template_render(borrow(source_), borrow(json), borrow(now.value_or("")), &rendered,
                             &error)) {
    fail({.what = printable(take(error), 400), .where = where_});
  }
  return take(rendered);
}

}  // namespace lathe
