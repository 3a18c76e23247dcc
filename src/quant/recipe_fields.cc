#include "quant/recipe_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "support/error.h"

namespace lathe {

void refuse_unknown_keys(const nlohmann::json& object, const std::string& where,
                         std::span<const std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail({.what = "unknown key in a recipe",
          .where = where,
          .expected = fmt::format("one of {}", fmt::join(known, ", ")),
          .found = printable(key, 40)});
  }
}

void refuse_value(const JsonFields& fields, std::string_view key, std::string expected) {
  fail({.what = "value not possible in a recipe",
        .where = fields.place(key),
        .expected = std::move(expected),
        .found = describe(*fields.find(key))});
}

}  // namespace lathe
