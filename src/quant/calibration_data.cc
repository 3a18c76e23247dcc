#include "quant/calibration_data.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "quant/embedded_files.h"
#include "support/error.h"
#include "support/json.h"
#include "support/mapped_file.h"
#include "support/utf8.h"

namespace lathe {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kRoles{"system", "user", "assistant"};

CalibrationMessage read_message(const json& value, const std::string& where) {
  const JsonFields fields(value, where);
  CalibrationMessage message{fields.string("role"), fields.string("content")};
  if (std::find(kRoles.begin(), kRoles.end(), message.role) == kRoles.end()) {
    fail({.what = "unknown role",
          .where = where,
          .expected = "system, user or assistant",
          .found = printable(message.role, 40)});
  }
  return message;
}

CalibrationChat read_chat(const json& value, const std::string& where) {
  if (!value.is_array() || value.empty()) {
    fail({.what = "not a conversation",
          .where = where,
          .expected = "a list of messages with role and content",
          .found = describe(value)});
  }
  CalibrationChat chat;
  for (const json& message : value) chat.push_back(read_message(message, where));
  return chat;
}

CalibrationChat read_line(std::string_view line, const std::string& where) {
  const json value = parse_json(line, where);
  if (!value.is_object()) return read_chat(value, where);
  const json* messages = JsonFields(value, where).find("messages");
  return read_chat(messages == nullptr ? value : *messages, where);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

CalibrationData default_calibration() {
  constexpr auto kWhere = "built-in calibration chats";
  CalibrationData data;
  data.texts.emplace_back(embedded_calibration_text());
  for (const json& chat : parse_json(embedded_calibration_chats(), kWhere)) {
    data.chats.push_back(read_chat(chat, kWhere));
  }
  return data;
}

CalibrationData read_calibration(const std::filesystem::path& path) {
  const std::string where = path.string();
  const bool lines = path.extension() == ".jsonl";
  if (!lines && path.extension() != ".txt") {
    fail({.what = "unknown kind of calibration data",
          .where = where,
          .expected = "a .txt file, or a .jsonl file with a conversation on every line"});
  }
  const std::string text = read_text_file(path);
  if (is_blank(text)) fail({.what = "the calibration file is empty", .where = where});
  require_utf8(text, where);
  CalibrationData data;
  if (!lines) {
    data.texts.push_back(text);
    return data;
  }
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (is_blank(line)) continue;
    data.chats.push_back(read_line(line, where + ": line " + std::to_string(number)));
  }
  return data;
}

}  // namespace lathe
