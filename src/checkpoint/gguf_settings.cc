#include "checkpoint/gguf_settings.h"

#include "support/error.h"

namespace lathe {
namespace {

[[noreturn]] void fail_missing(const std::string& place) {
  fail({.what = "the metadata is missing", .where = place});
}

[[noreturn]] void fail_foreign(const std::string& place, const std::string& expected,
                               const std::string& found) {
  fail({.what = "models with this setting are not supported",
        .where = place,
        .expected = expected,
        .found = found});
}

}  // namespace

GgufSettings::GgufSettings(const Gguf& gguf, std::string_view architecture)
    : gguf_(gguf), prefix_(std::string(architecture) + ".") {}

std::string GgufSettings::place(std::string_view key) const {
  return gguf_.where() + ": " + full(key);
}

std::optional<int64_t> GgufSettings::integer(std::string_view key) {
  return gguf_.integer(ask(key));
}

std::optional<double> GgufSettings::number(std::string_view key) { return gguf_.number(ask(key)); }

std::optional<bool> GgufSettings::boolean(std::string_view key) { return gguf_.boolean(ask(key)); }

std::optional<std::string_view> GgufSettings::string(std::string_view key) {
  return gguf_.string(ask(key));
}

int64_t GgufSettings::required_integer(std::string_view key) {
  const auto value = integer(key);
  if (!value) fail_missing(place(key));
  return *value;
}

double GgufSettings::required_number(std::string_view key) {
  const auto value = number(key);
  if (!value) fail_missing(place(key));
  return *value;
}

void GgufSettings::refuse_unless(std::string_view key, int64_t neutral) {
  const auto value = integer(key);
  if (!value || *value == neutral) return;
  fail_foreign(place(key), std::to_string(neutral), std::to_string(*value));
}

void GgufSettings::refuse_unless_number(std::string_view key, double neutral) {
  const auto value = number(key);
  if (!value || *value == neutral) return;
  fail_foreign(place(key), std::to_string(neutral), std::to_string(*value));
}

std::vector<std::string> GgufSettings::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : gguf_.metadata()) {
    const std::string name(key);
    if (name.starts_with(prefix_) && !asked_.contains(name)) keys.push_back(name);
  }
  return keys;
}

}  // namespace lathe
