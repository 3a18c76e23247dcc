#include "checkpoint/families/family.h"

#include <algorithm>
#include <array>

namespace lathe {
namespace {

constexpr std::array kFamilies{Family{"llama", read_llama, add_llama_layer},
                               Family{"mistral", read_mistral, add_llama_layer},
                               Family{"qwen2", read_qwen2, add_llama_layer},
                               Family{"qwen3", read_qwen3, add_llama_layer},
                               Family{"smollm3", read_smollm3, add_llama_layer},
                               Family{"granite", read_granite, add_llama_layer},
                               Family{"gemma", read_gemma, add_llama_layer},
                               Family{"gemma2", read_gemma2, add_gemma2_layer},
                               Family{"gemma3_text", read_gemma3_text, add_gemma2_layer},
                               Family{"phi3", read_phi3, add_phi3_layer},
                               Family{"olmo2", read_olmo2, add_olmo2_layer},
                               Family{"glm", read_glm, add_glm_layer}};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& family) {
    return family.model_type == model_type;
  });
  return found == kFamilies.end() ? nullptr : found;
}

}  // namespace lathe
