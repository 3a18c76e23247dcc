#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// Whether `text` is well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates,
/// nothing above U+10FFFF.
bool is_utf8(std::string_view text);

/// Throws Error naming `where` and the first byte that is not well-formed UTF-8.
void require_utf8(std::string_view text, const std::string& where);

}  // namespace lathe
