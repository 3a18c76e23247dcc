#include "graph/attributes.h"

#include "support/error.h"

namespace lathe {
namespace {

[[noreturn]] void wrong_type(std::string_view name, std::string expected) {
  fail({.what = "attribute '" + std::string(name) + "' has another type",
        .expected = std::move(expected)});
}

}  // namespace

void Attributes::set(std::string_view name, Item item) {
  for (Entry& entry : entries_) {
    if (entry.first == name) {
      entry.second = std::move(item);
      return;
    }
  }
  entries_.emplace_back(name, std::move(item));
}

const Attributes::Item* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

const Attributes::Item& Attributes::get(std::string_view name) const {
  const Item* item = find(name);
  if (item == nullptr) fail({.what = "attribute '" + std::string(name) + "' is missing"});
  return *item;
}

int64_t Attributes::integer(std::string_view name) const {
  if (const auto* value = std::get_if<int64_t>(&get(name))) return *value;
  wrong_type(name, "an integer");
}

double Attributes::real(std::string_view name) const {
  const Item& item = get(name);
  if (const auto* value = std::get_if<double>(&item)) return *value;
  if (const auto* value = std::get_if<int64_t>(&item)) return static_cast<double>(*value);
  wrong_type(name, "a number");
}

const std::string& Attributes::text(std::string_view name) const {
  if (const auto* value = std::get_if<std::string>(&get(name))) return *value;
  wrong_type(name, "text");
}

const std::vector<int64_t>& Attributes::integers(std::string_view name) const {
  if (const auto* value = std::get_if<std::vector<int64_t>>(&get(name))) return *value;
  wrong_type(name, "a list of integers");
}

}  // namespace lathe
