#include "support/json.h"

#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

constexpr int kMaxDepth = 64;

/// The whole number that `value` is, if it is one that fits.
std::optional<int64_t> whole(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (number != std::trunc(number) || std::abs(number) > 0x1p53) return std::nullopt;
  return static_cast<int64_t>(number);
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::unordered_set<std::string>> keys;  // of the objects that are still open
  const auto check = [&](int depth, Event event, nlohmann::json& parsed) {
    if (depth > kMaxDepth) {
      fail({.what = "JSON is nested too deeply",
            .where = where,
            .expected = "at most " + std::to_string(kMaxDepth) + " levels"});
    }
    if (event == Event::object_start) {
      keys.emplace_back();
    } else if (event == Event::object_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        fail({.what = "the same JSON key is given twice",
              .where = where,
              .found = '"' + printable(key, 80) + '"'});
      }
    }
    return true;
  };
  if (text.empty()) fail({.what = "not valid JSON", .where = where, .found = "no text at all"});
  try {
    return nlohmann::json::parse(text, check);
  } catch (const nlohmann::json::parse_error& error) {
    fail({.what = "not valid JSON",
          .where = where,
          .found = "an error at byte " + std::to_string(error.byte)});
  } catch (const nlohmann::json::exception&) {
    fail({.what = "not valid JSON", .where = where, .found = "a number out of range"});
  }
}

JsonFields::JsonFields(const nlohmann::json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    fail({.what = "wrong JSON type",
          .where = where_,
          .expected = "an object",
          .found = describe(object)});
  }
}

const nlohmann::json* JsonFields::find(std::string_view key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool JsonFields::is_null(std::string_view key) const {
  const auto found = object_.find(key);
  return found != object_.end() && found->is_null();
}

std::string JsonFields::place(std::string_view key) const {
  return where_ + ": " + std::string(key);
}

int64_t JsonFields::integer(std::string_view key, int64_t low, int64_t high) const {
  const auto value = optional_integer(key, low, high);
  if (!value) missing(key);
  return *value;
}

std::optional<int64_t> JsonFields::optional_integer(std::string_view key, int64_t low,
                                                    int64_t high) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = whole(*value);
  if (!number || *number < low || *number > high) {
    fail({.what = value->is_number() ? "value out of range" : "wrong JSON type",
          .where = place(key),
          .expected = "a whole number from " + std::to_string(low) + " to " + std::to_string(high),
          .found = describe(*value)});
  }
  return number;
}

double JsonFields::number(std::string_view key, double low, double high) const {
  const auto value = optional_number(key, low, high);
  if (!value) missing(key);
  return *value;
}

std::optional<double> JsonFields::optional_number(std::string_view key, double low,
                                                  double high) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  // Written so that a NaN fails.
  if (!(number >= low && number <= high)) {
    fail({.what = value->is_number() ? "value out of range" : "wrong JSON type",
          .where = place(key),
          .expected = "a number from " + describe(low) + " to " + describe(high),
          .found = describe(*value)});
  }
  return number;
}

std::optional<bool> JsonFields::optional_boolean(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    fail({.what = "wrong JSON type",
          .where = place(key),
          .expected = "true or false",
          .found = describe(*value)});
  }
  return value->get<bool>();
}

std::string JsonFields::string(std::string_view key) const {
  auto value = optional_string(key);
  if (!value) missing(key);
  return *std::move(value);
}

std::optional<std::string> JsonFields::optional_string(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    fail({.what = "wrong JSON type",
          .where = place(key),
          .expected = "a string",
          .found = describe(*value)});
  }
  return value->get<std::string>();
}

const nlohmann::json& JsonFields::list(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr || !value->is_array()) refuse_type(key, "a list");
  return *value;
}

const nlohmann::json& JsonFields::object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr || !value->is_object()) refuse_type(key, "an object");
  return *value;
}

std::vector<double> JsonFields::numbers(std::string_view key, double low, double high) const {
  std::vector<double> numbers;
  for (const nlohmann::json& number : list(key)) {
    const nlohmann::json item = {{std::string(key), number}};
    numbers.push_back(JsonFields(item, where_).number(key, low, high));
  }
  return numbers;
}

std::vector<int64_t> JsonFields::integers(std::string_view key, int64_t low, int64_t high) const {
  std::vector<int64_t> numbers;
  for (const nlohmann::json& number : list(key)) {
    const nlohmann::json item = {{std::string(key), number}};
    numbers.push_back(JsonFields(item, where_).integer(key, low, high));
  }
  return numbers;
}

void JsonFields::refuse_type(std::string_view key, const std::string& expected) const {
  const nlohmann::json* value = find(key);
  fail({.what = "wrong JSON type",
        .where = place(key),
        .expected = expected,
        .found = value == nullptr ? "nothing" : describe(*value)});
}

void JsonFields::missing(std::string_view key) const {
  fail({.what = "the field is missing", .where = place(key)});
}

std::string describe(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60);
}

}  // namespace lathe
