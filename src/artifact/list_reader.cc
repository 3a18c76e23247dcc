#include "artifact/list_reader.h"

#include <fmt/format.h>

#include <utility>

#include "support/error.h"

namespace lathe {

ListReader::ListReader(const nlohmann::json& list, std::string_view section, size_t index)
    : list_(list), section_(section), index_(index) {
  if (!list_.is_array()) refuse("wrong JSON type", "a list", describe(list_));
}

const nlohmann::json& ListReader::peek() const {
  if (at_end()) refuse("the record is too short");
  return list_[next_];
}

const nlohmann::json& ListReader::any() {
  const nlohmann::json& item = peek();
  ++next_;
  return item;
}

int64_t ListReader::integer(int64_t low, int64_t high) {
  const nlohmann::json& item = any();
  const bool fits =
      item.is_number_integer() &&
      (!item.is_number_unsigned() || item.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
  const int64_t number = fits ? item.get<int64_t>() : 0;
  if (!fits || number < low || number > high) {
    refuse("value out of range", fmt::format("a whole number from {} to {}", low, high),
           describe(item));
  }
  return number;
}

const std::string& ListReader::string() {
  const nlohmann::json& item = any();
  if (!item.is_string()) refuse("wrong JSON type", "a string", describe(item));
  return item.get_ref<const std::string&>();
}

const std::string& ListReader::name() {
  const std::string& name = string();
  if (name.size() > kMaxNameBytes) refuse("a name is too long", {}, std::to_string(name.size()));
  return name;
}

std::vector<int64_t> ListReader::integers(int64_t low, int64_t high, size_t limit) {
  const nlohmann::json& item = any();
  ListReader reader(item, section_, index_);
  if (item.size() > limit) refuse("the list is too long", {}, std::to_string(item.size()));
  std::vector<int64_t> numbers;
  while (!reader.at_end()) numbers.push_back(reader.integer(low, high));
  return numbers;
}

void ListReader::finish() const {
  if (!at_end()) refuse("the record is too long");
}

void ListReader::refuse(std::string what, std::string expected, std::string found) const {
  fail({.what = std::move(what),
        .where = fmt::format("{}[{}]", section_, index_),
        .expected = std::move(expected),
        .found = std::move(found)});
}

const nlohmann::json& list_field(const JsonFields& fields, std::string_view key, size_t limit) {
  const nlohmann::json* list = fields.find(key);
  if (list == nullptr || !list->is_array() || list->size() > limit) {
    fail({.what = "wrong JSON type",
          .where = fields.place(key),
          .expected = fmt::format("a list of at most {}", limit),
          .found = list == nullptr ? "nothing" : describe(*list)});
  }
  return *list;
}

}  // namespace lathe
