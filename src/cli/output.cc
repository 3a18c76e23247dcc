#include "cli/output.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>

namespace lathe::cli {

void progress(std::string_view what) { fmt::print(stderr, "{}\n", what); }

void print_json(const nlohmann::ordered_json& json) {
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace lathe::cli
