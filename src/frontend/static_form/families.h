#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "frontend/frontend.h"

namespace lathe::static_form {

/// LlamaForCausalLM, and those that differ from it by their configs: Mistral, Qwen2, Qwen3,
/// SmolLM3, Granite, Gemma.
Graph build_llama(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                  const StaticForm& form);
/// Olmo2ForCausalLM.
Graph build_olmo2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                  const StaticForm& form);
/// Gemma2ForCausalLM.
Graph build_gemma2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                   const StaticForm& form);
/// Gemma3ForCausalLM.
Graph build_gemma3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                   const StaticForm& form);
/// GlmForCausalLM.
Graph build_glm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                const StaticForm& form);
/// Phi3ForCausalLM.
Graph build_phi3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                 const StaticForm& form);

}  // namespace lathe::static_form
