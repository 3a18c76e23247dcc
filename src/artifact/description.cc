#include "artifact/description.h"

#include <limits>

#include "artifact/io_description.h"
#include "support/error.h"
#include "support/json.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

/// Text from outside (the name of a file) may not be UTF-8, which JSON has to be.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string facts_json(const ModelFacts& facts) {
  return text_of({{"model_type", facts.model_type},
                  {"vocab_size", facts.vocab_size},
                  {"layers", facts.layers},
                  {"context", facts.context}});
}

ModelFacts parse_facts(std::string_view text) {
  const Json json = parse_json(text, "model facts");
  const JsonFields fields(json, "model facts");
  return {fields.string("model_type"), fields.integer("vocab_size", 1, kMaxCount),
          fields.integer("layers", 0, kMaxCount), fields.integer("context", 1, kMaxCount)};
}

void require_context(const ModelFacts& facts, int64_t context, const std::string& where) {
  if (context == facts.context) return;
  fail({.what = "the graph was compiled for another context than the model tells",
        .where = where,
        .expected = std::to_string(facts.context),
        .found = std::to_string(context)});
}

std::string generation_json(const GenerationIds& ids) {
  Json json = {{"eos_token_id", ids.eos_ids}};
  if (ids.bos_id) json["bos_token_id"] = *ids.bos_id;
  return json.dump();
}

GenerationIds parse_generation(std::string_view text, int64_t vocab_size) {
  const std::string where = "generation config";
  const Json json = parse_json(text, where);
  const JsonFields fields(json, where);
  GenerationIds ids;
  ids.eos_ids = fields.integers("eos_token_id", 0, vocab_size - 1);
  ids.bos_id = fields.optional_integer("bos_token_id", 0, vocab_size - 1);
  return ids;
}

std::string provenance_json(const Provenance& provenance) {
  return text_of({{"checkpoint", provenance.checkpoint_fingerprint},
                  {"source", provenance.source_name},
                  {"tool", provenance.tool_version},
                  {"options", provenance.options}});
}

Provenance parse_provenance(std::string_view text) {
  const Json json = parse_json(text, "provenance");
  const JsonFields fields(json, "provenance");
  Provenance provenance{fields.string("checkpoint"), fields.string("source"), fields.string("tool"),
                        Json::object()};
  if (provenance.source_name.find_first_of("/\\") != std::string::npos) {
    fail({.what = "the name of the source is a path",
          .where = fields.place("source"),
          .expected = "a file name",
          .found = provenance.source_name});
  }
  provenance.options = fields.object("options");
  return provenance;
}

void check_recipe_json(std::string_view text) {
  const Json json = parse_json(text, "recipe");
  const JsonFields fields(json, "recipe");
}

std::string io_json(const std::vector<Graph>& graphs) {
  Json list = Json::array();
  for (const Graph& graph : graphs) list.push_back(io_contract_json(graph.io()));
  return text_of(list);
}

}  // namespace lathe
