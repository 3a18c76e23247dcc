#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace lathe::cli {

/// One line of progress on stderr.
void progress(std::string_view what);
/// JSON on stdout.
void print_json(const nlohmann::ordered_json& json);

}  // namespace lathe::cli
