#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "frontend/frontend.h"

namespace lathe::hf {

/// LlamaForCausalLM, and those that differ from it by their configs: Mistral, Qwen2, SmolLM3.
Graph build_llama(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// Qwen3ForCausalLM.
Graph build_qwen3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// GraniteForCausalLM.
Graph build_granite(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// Olmo2ForCausalLM.
Graph build_olmo2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// GemmaForCausalLM.
Graph build_gemma(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// Gemma2ForCausalLM.
Graph build_gemma2(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// Gemma3ForCausalLM.
Graph build_gemma3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// Phi3ForCausalLM.
Graph build_phi3(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);
/// GlmForCausalLM.
Graph build_glm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);

}  // namespace lathe::hf
