#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lathe::testing {

/// The context that small_model() is compiled for.
inline constexpr int kContext = 128;
/// The vocabulary of the small Llama.
inline constexpr int kVocab = 384;

/// The checkpoint folder of the small Llama, which has a chat template.
std::string small_source();
/// The same compiled, once for all tests of this process.
std::string small_model();

/// The arguments that compile a SRC quickly.
std::vector<std::string> compile_arguments(const std::string& source, const std::string& output);

/// The one JSON value that a command prints; anything beside it is an error.
nlohmann::ordered_json json_output(const std::vector<std::string>& arguments);
/// The keys of an object in their order.
std::vector<std::string> keys(const nlohmann::ordered_json& object);

}  // namespace lathe::testing
