#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Parses JSON that comes from outside. Throws Error for invalid JSON or UTF-8, a key given twice
/// in one object, or nesting over 64 levels; `where` names the file.
nlohmann::json parse_json(std::string_view text, const std::string& where);

/// Typed, range-checked reading of the fields of one JSON object. A null counts as absent. Errors
/// name the file and the field.
class JsonFields {
 public:
  /// Throws Error where `object` is not a JSON object. Keeps a reference to it.
  JsonFields(const nlohmann::json& object, std::string where);

  /// Nullptr where the field is absent or null.
  const nlohmann::json* find(std::string_view key) const;
  /// Whether the field is there and says null.
  bool is_null(std::string_view key) const;
  /// "config.json: hidden_size"
  std::string place(std::string_view key) const;

  /// A whole number in [low, high] (2048.0 counts as whole). Throws where absent.
  int64_t integer(std::string_view key, int64_t low, int64_t high) const;
  std::optional<int64_t> optional_integer(std::string_view key, int64_t low, int64_t high) const;
  /// A finite number in [low, high]. Throws where absent.
  double number(std::string_view key, double low, double high) const;
  std::optional<double> optional_number(std::string_view key, double low, double high) const;
  std::optional<bool> optional_boolean(std::string_view key) const;
  /// Throws where absent.
  std::string string(std::string_view key) const;
  std::optional<std::string> optional_string(std::string_view key) const;
  /// Throws where absent.
  const nlohmann::json& list(std::string_view key) const;
  const nlohmann::json& object(std::string_view key) const;
  /// A list of finite numbers in [low, high]. Throws where absent.
  std::vector<double> numbers(std::string_view key, double low, double high) const;
  /// A list of whole numbers in [low, high]. Throws where absent.
  std::vector<int64_t> integers(std::string_view key, int64_t low, int64_t high) const;

 private:
  [[noreturn]] void refuse_type(std::string_view key, const std::string& expected) const;
  [[noreturn]] void missing(std::string_view key) const;

  const nlohmann::json& object_;
  std::string where_;
};

/// A JSON value for an error message: its text, cut short.
std::string describe(const nlohmann::json& value);

}  // namespace lathe
