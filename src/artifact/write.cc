#include "artifact/write.h"

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/container.h"
#include "artifact/description.h"
#include "artifact/format.h"
#include "artifact/graph_writer.h"

namespace lathe {
namespace {

StoredTensor text_tensor(std::string_view name, const std::string& text) {
  return {std::string(name),
          DType::u8,
          {static_cast<int64_t>(text.size())},
          std::as_bytes(std::span(text))};
}

std::map<std::string, std::string> describe(const Model& model) {
  std::map<std::string, std::string> metadata{{std::string(kModelKey), facts_json(model.facts)},
                                              {std::string(kRecipeKey), model.recipe_json},
                                              {std::string(kIoKey), io_json(model.graphs)}};
  const std::string provenance = provenance_json(model.provenance);
  metadata[std::string(kProvenanceKey)] = provenance;
  // What cannot be read back must not be written.
  parse_facts(metadata[std::string(kModelKey)]);
  parse_provenance(provenance);
  check_recipe_json(model.recipe_json);
  return metadata;
}

}  // namespace

void write_model(const Model& model, const std::filesystem::path& path) {
  StoredGraphs graphs = store_graphs(model.graphs);
  const std::map<std::string, std::string> metadata = describe(model);
  const std::string generation = generation_json(model.generation);
  parse_generation(generation, model.facts.vocab_size);

  std::vector<StoredTensor> small = std::move(graphs.scales);
  small.push_back(text_tensor(kGraphsName, graphs.json));
  small.push_back(text_tensor(kGenerationName, generation));
  for (const auto& [name, text] :
       {std::pair(kTokenizerName, &model.text.tokenizer_json),
        std::pair(kTokenizerConfigName, &model.text.tokenizer_config_json),
        std::pair(kChatTemplateName, &model.text.chat_template)}) {
    if (!text->empty()) small.push_back(text_tensor(name, *text));
  }
  write_container(path, metadata, small, graphs.weights);
}

}  // namespace lathe
