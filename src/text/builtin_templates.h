#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe {

/// The source of a chat template that models without one can be given by name: "chatml" and
/// "gemma", the turns of many published models, and "question", plain text that a model without any
/// chat training goes on from with an answer. Nothing for any other name.
std::optional<std::string_view> builtin_template(std::string_view name);

/// "chatml, gemma, question"
std::string builtin_template_names();

}  // namespace lathe
