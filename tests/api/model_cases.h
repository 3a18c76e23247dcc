#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "decode/runner.h"

namespace lathe::testing {

/// A small checkpoint with golden values.
struct ModelCase {
  std::string name;
  std::filesystem::path source;  ///< what open_source() takes
  std::filesystem::path golden;  ///< pK.input_ids, pK.logits, pK.greedy_ids, pK.greedy_margin
  int prompts = 0;               ///< p0 to p(prompts - 1)
};

/// The checkpoint that is built into the program: trained, no rope scaling, bf16.
ModelCase embedded_model();
/// A folder of tests/data/tiny, "mistral": random weights with outliers, float32.
ModelCase tiny_model(const std::string& family);
/// With llama3 rope scaling.
ModelCase tiny_llama();
/// Every folder of tests/data/tiny that has golden values.
std::vector<ModelCase> tiny_models();

/// Those, and the embedded one.
std::vector<ModelCase> all_models();

/// For names of parameterized tests.
inline std::ostream& operator<<(std::ostream& out, const ModelCase& model) {
  return out << model.name;
}

/// The context that a prompt is run in: a short one for a short prompt, since longrope has another
/// rotation in a long one, and Hugging Face chooses it by the length of what it is given.
int64_t context_of(size_t prompt_length);

/// "p0.logits"
std::string of_prompt(int prompt, const std::string& tensor);

/// Logits after each of `ids`, appended to what the runner holds: [ids, vocab].
std::vector<float> prefill_logits(Runner& runner, std::span<const int64_t> ids);

/// Runs `prompt` as a sequence of its own and writes `count` ids, each the largest logit. An
/// end-of-sequence id does not end it.
std::vector<int64_t> greedy(Runner& runner, std::span<const int64_t> prompt, size_t count);

}  // namespace lathe::testing
