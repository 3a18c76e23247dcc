#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact/model.h"

namespace lathe {

// What an artifact says about a model beside its graphs, as JSON (docs/artifact.md has the fields).
// Each parse_ is the inverse of its _json and throws Error for a field that is missing, out of
// range or of another type.

std::string facts_json(const ModelFacts& facts);
ModelFacts parse_facts(std::string_view text);

/// Throws Error where a graph, named by `where`, has another context than the facts tell.
void require_context(const ModelFacts& facts, int64_t context, const std::string& where);

/// As Hugging Face's generation_config.json has it.
std::string generation_json(const GenerationIds& ids);
GenerationIds parse_generation(std::string_view text, int64_t vocab_size);

std::string provenance_json(const Provenance& provenance);
Provenance parse_provenance(std::string_view text);

/// Throws Error where the text of a recipe is not a JSON object; what is in it is for parse_recipe.
void check_recipe_json(std::string_view text);

/// The IO contract of every graph, for readers that want no more of a graph than its boundary.
std::string io_json(const std::vector<Graph>& graphs);

}  // namespace lathe
