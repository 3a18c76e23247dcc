#pragma once

#include <span>
#include <string>
#include <string_view>

#include "support/json.h"

namespace lathe {

// What the readers of a recipe's JSON refuse, in words.

/// Throws Error for a key of `object` that is not one of `known`.
void refuse_unknown_keys(const nlohmann::json& object, const std::string& where,
                         std::span<const std::string_view> known);

/// Throws Error for the value of a field, which must be there.
[[noreturn]] void refuse_value(const JsonFields& fields, std::string_view key,
                               std::string expected);

}  // namespace lathe
