#include "frontend/frontend.h"

#include <array>
#include <string_view>
#include <utility>

#include "frontend/hf/families.h"
#include "frontend/static_form/families.h"
#include "support/error.h"

namespace lathe {
namespace {

/// A model family: config.json's model_type and the files that build it.
struct Family {
  std::string_view model_type;
  Graph (*hf)(std::shared_ptr<const Checkpoint>, const GraphShape&);
  Graph (*static_form)(std::shared_ptr<const Checkpoint>, const GraphShape&, const StaticForm&);
};

constexpr std::array kFamilies{Family{"llama", hf::build_llama, static_form::build_llama},
                               Family{"mistral", hf::build_llama, static_form::build_llama},
                               Family{"qwen2", hf::build_llama, static_form::build_llama},
                               Family{"smollm3", hf::build_llama, static_form::build_llama},
                               Family{"qwen3", hf::build_qwen3, static_form::build_llama},
                               Family{"granite", hf::build_granite, static_form::build_llama},
                               Family{"olmo2", hf::build_olmo2, static_form::build_olmo2},
                               Family{"gemma", hf::build_gemma, static_form::build_llama},
                               Family{"gemma2", hf::build_gemma2, static_form::build_gemma2},
                               Family{"gemma3_text", hf::build_gemma3, static_form::build_gemma3},
                               Family{"phi3", hf::build_phi3, static_form::build_phi3},
                               Family{"glm", hf::build_glm, static_form::build_glm}};

const Family& family_of(const Checkpoint& checkpoint) {
  const std::string& type = checkpoint.config().model_type;
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return family;
  }
  fail({.what = "no frontend for this model_type", .found = "'" + type + "'"});
}

}  // namespace

Graph build_hf_graph(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  const Family& family = family_of(*checkpoint);
  return family.hf(std::move(checkpoint), shape);
}

Graph build_static_graph(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                         const StaticForm& form) {
  const Family& family = family_of(*checkpoint);
  return family.static_form(std::move(checkpoint), shape, form);
}

}  // namespace lathe
