#include "artifact/read.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "artifact/container.h"
#include "artifact/description.h"
#include "artifact/format.h"
#include "artifact/graph_reader.h"
#include "support/error.h"

namespace lathe {
namespace {

/// In the file. Empty where there is no such tensor.
std::string_view text_in(const Container& container, std::string_view name) {
  const SafetensorsEntry* entry = container.find(name);
  if (entry == nullptr) return {};
  const std::span<const std::byte> bytes = container.bytes(*entry);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_text(const Container& container, std::string_view name) {
  return std::string(text_in(container, name));
}

ModelText load_text(const Container& container) {
  return {read_text(container, kTokenizerName), read_text(container, kTokenizerConfigName),
          read_text(container, kChatTemplateName)};
}

Model load(const Container& container) {
  Model model;
  model.facts = parse_facts(container.metadata(kModelKey));
  model.provenance = parse_provenance(container.metadata(kProvenanceKey));
  model.recipe_json = container.metadata(kRecipeKey);
  check_recipe_json(model.recipe_json);
  model.generation =
      parse_generation(read_text(container, kGenerationName), model.facts.vocab_size);
  const std::string_view graphs = text_in(container, kGraphsName);
  if (graphs.empty()) fail({.what = "the entry is missing", .where = std::string(kGraphsName)});
  model.graphs = load_graphs(graphs, container);
  for (const Graph& graph : model.graphs) {
    require_context(model.facts, graph.context(), std::string(name_of(graph.role())) + " graph");
  }
  if (io_json(model.graphs) != container.metadata(kIoKey)) {
    fail({.what = "the IO contract is not that of the graphs"});
  }
  return model;
}

/// All but the text.
Model load(const Container& container, const std::filesystem::path& path) {
  try {
    return load(container);
  } catch (const Error& error) {
    fail({.what = error.what(), .where = path.string(), .advice = std::string(kDamagedAdvice)});
  }
}

}  // namespace

Model read_model(const std::filesystem::path& path, WeightCheck check) {
  if (check == WeightCheck::checksum) {
    ModelText text;
    CheckedModel read = begin_reading(path, [&](ModelText found) { text = std::move(found); });
    read.weights.get();
    read.model.text = std::move(text);
    return std::move(read.model);
  }
  const Container container = Container::open(path);
  Model model = load(container, path);
  model.text = load_text(container);
  return model;
}

CheckedModel begin_reading(const std::filesystem::path& path,
                           const std::function<void(ModelText)>& take_text) {
  const auto container = std::make_shared<const Container>(Container::open(path));
  take_text(load_text(*container));
  std::future<void> weights = std::async(std::launch::async | std::launch::deferred,
                                         [container] { container->check_weights(); });
  return {load(*container, path), std::move(weights)};
}

ModelText read_model_text(const std::filesystem::path& path) {
  return load_text(Container::open(path));
}

}  // namespace lathe
