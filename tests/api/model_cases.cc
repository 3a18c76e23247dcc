#include "api/model_cases.h"

#include "api/golden.h"

namespace lathe::testing {

ModelCase embedded_model() {
  return {"embedded", "tiny", test_data() / "embedded" / "golden.safetensors", 3};
}

ModelCase tiny_llama() {
  const std::filesystem::path folder = test_data() / "tiny" / "llama";
  return {"tiny_llama", folder, folder / "golden.safetensors", 2};
}

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
