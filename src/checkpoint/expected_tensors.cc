#include "checkpoint/expected_tensors.h"

#include <algorithm>
#include <string>

#include "checkpoint/families/family.h"
#include "support/error.h"

namespace lathe {

std::vector<TensorInfo> expected_tensors(const ModelConfig& config) {
  const int64_t hidden = config.hidden_size;
  const Family& family = *find_family(config.model_type);
  std::vector<TensorInfo> tensors{{"model.embed_tokens.weight", {config.vocab_size, hidden}}};
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    LayerTensors into("model.layers." + std::to_string(layer) + ".", tensors);
    family.add_layer(config, into);
  }
  tensors.push_back({"model.norm.weight", {hidden}});
  if (!config.tie_word_embeddings) {
    tensors.push_back({"lm_head.weight", {config.vocab_size, hidden}});
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  return tensors;
}

void check_shape(const TensorInfo& expected, const Shape& found, const std::string& where) {
  if (expected.shape == found) return;
  fail({.what = "the tensor does not have the shape that the config gives it",
        .where = where + ": " + expected.name,
        .expected = to_string(expected.shape),
        .found = to_string(found)});
}

void fail_missing(const std::vector<std::string>& names, const std::string& where) {
  const bool head_only = names.size() == 1 && names.front() == "lm_head.weight";
  fail({.what = names.size() == 1
                    ? "the tensor is missing"
                    : "tensors are missing (" + std::to_string(names.size()) + " in all)",
        .where = where + ": " + names.front(),
        .advice = head_only ? "the config says tie_word_embeddings false; if the model does share "
                              "its embedding, say true there"
                            : "the download may be incomplete, or the config of another model"});
}

}  // namespace lathe
