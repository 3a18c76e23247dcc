#pragma once

#include <string>
#include <string_view>

namespace lathe::cli {

/// Text as it may stand between tags and in a quoted attribute.
std::string escape_html(std::string_view text);

}  // namespace lathe::cli
