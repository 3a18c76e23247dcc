#include "quant/recipe_facts.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "quant/recipe_fields.h"
#include "support/error.h"

namespace lathe {
namespace {

using Number = int64_t RecipeFacts::*;
constexpr std::array<std::pair<std::string_view, Number>, 6> kNumbers{{
    {"vocab_size", &RecipeFacts::vocab_size},
    {"hidden_size", &RecipeFacts::hidden_size},
    {"intermediate_size", &RecipeFacts::intermediate_size},
    {"num_hidden_layers", &RecipeFacts::num_hidden_layers},
    {"num_attention_heads", &RecipeFacts::num_attention_heads},
    {"num_key_value_heads", &RecipeFacts::num_key_value_heads},
}};
constexpr std::string_view kModelType = "model_type";

}  // namespace

RecipeFacts parse_facts_asked_for(const nlohmann::json& object, const std::string& where) {
  const JsonFields fields(object, where);
  std::vector<std::string_view> known{kModelType};
  for (const auto& [name, number] : kNumbers) known.push_back(name);
  refuse_unknown_keys(object, where, known);
  RecipeFacts facts;
  facts.model_type = fields.optional_string(kModelType).value_or("");
  for (const auto& [name, number] : kNumbers) {
    facts.*number =
        fields.optional_integer(name, 1, std::numeric_limits<int32_t>::max()).value_or(0);
  }
  if (facts == RecipeFacts{}) {
    fail({.what = "the recipe asks for nothing",
          .where = where,
          .expected = fmt::format("some of {}", fmt::join(known, ", "))});
  }
  return facts;
}

bool has_facts(const RecipeFacts& model, const RecipeFacts& asked) {
  if (asked == RecipeFacts{}) return false;
  if (!asked.model_type.empty() && asked.model_type != model.model_type) return false;
  for (const auto& [name, number] : kNumbers) {
    if (asked.*number != 0 && asked.*number != model.*number) return false;
  }
  return true;
}

}  // namespace lathe
