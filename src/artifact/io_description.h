#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "graph/io_contract.h"

namespace lathe {

/// An IO contract as JSON: `role`, `tokens_per_call`, `context`, `inputs` and `outputs`: `name`,
/// `dtype`, `shape`, and `scale` and `zero_point` where the integers are codes.
nlohmann::json io_contract_json(const IoContract& io);

/// The inverse. Throws Error, naming `where` and the field, for anything that no graph could have.
IoContract parse_io_contract(const nlohmann::json& json, const std::string& where);

}  // namespace lathe
