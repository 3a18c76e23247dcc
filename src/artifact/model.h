#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// The text files of a model as its author wrote them: what src/text is opened with. Empty: the
/// model has none.
struct ModelText {
  std::string tokenizer_json;
  std::string tokenizer_config_json;
  std::string chat_template;  ///< Jinja source
};

/// Ids that end a text, and how it begins.
struct GenerationIds {
  std::vector<int64_t> eos_ids;  ///< each in [0, vocab_size)
  std::optional<int64_t> bos_id;
};

struct ModelFacts {
  std::string model_type;  ///< "llama"
  int64_t vocab_size = 0;
  int64_t layers = 0;
  int64_t context = 0;  ///< tokens that prompt and answer may have together
};

/// Where a model came from. Holds no time and no path, so the same compilation gives the same file.
struct Provenance {
  std::string checkpoint_fingerprint;  ///< Checkpoint::fingerprint()
  std::string source_name;             ///< file or folder name alone, without the path to it
  std::string tool_version;
  nlohmann::json options = nlohmann::json::object();  ///< what `compile` was asked for
};

/// A compiled model: what model.lathe holds. Graphs that use one weight share its Constant.
struct Model {
  std::vector<Graph> graphs;  ///< integer graphs, in any number and order
  ModelText text;
  GenerationIds generation;
  ModelFacts facts;
  std::string recipe_json = "{}";  ///< text of the recipe, for parse_recipe
  Provenance provenance;

  /// The first graph of that role, or nullptr.
  const Graph* find(GraphRole role) const;
  /// Throws Error where there is no graph of that role.
  const Graph& graph(GraphRole role) const;
};

}  // namespace lathe
