#include "api/model_cases.h"

#include <algorithm>

#include "api/golden.h"

namespace lathe::testing {

ModelCase embedded_model() {
  return {"embedded", "tiny", test_data() / "embedded" / "golden.safetensors", 3};
}

ModelCase tiny_model(const std::string& family) {
  const std::filesystem::path folder = test_data() / "tiny" / family;
  ModelCase model{"tiny_" + family, folder, folder / "golden.safetensors"};
  const Golden values(model.golden);
  while (values.has(of_prompt(model.prompts, "input_ids"))) ++model.prompts;
  return model;
}

ModelCase tiny_llama() { return tiny_model("llama"); }

std::vector<ModelCase> tiny_models() {
  std::vector<ModelCase> models;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "tiny")) {
    if (!std::filesystem::exists(entry.path() / "golden.safetensors")) continue;
    models.push_back(tiny_model(entry.path().filename().string()));
  }
  std::sort(models.begin(), models.end(),
            [](const ModelCase& a, const ModelCase& b) { return a.name < b.name; });
  return models;
}

std::vector<ModelCase> all_models() {
  std::vector<ModelCase> models = tiny_models();
  models.push_back(embedded_model());
  return models;
}

int64_t context_of(size_t prompt_length) { return prompt_length <= 48 ? 64 : 256; }

std::string of_prompt(int prompt, const std::string& tensor) {
  return "p" + std::to_string(prompt) + "." + tensor;
}

std::vector<float> prefill_logits(Runner& runner, std::span<const int64_t> ids) {
  std::vector<float> logits;
  runner.prefill(ids, [&](int64_t, std::span<const float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
  });
  return logits;
}

std::vector<int64_t> greedy(Runner& runner, std::span<const int64_t> prompt, size_t count) {
  runner.reset();
  std::vector<int64_t> ids;
  LogitsRow logits = runner.prefill(prompt);
  while (ids.size() < count) {
    ids.push_back(argmax(logits));
    if (ids.size() < count) logits = runner.step(ids.back());
  }
  return ids;
}

}  // namespace lathe::testing
