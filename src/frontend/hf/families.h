#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "frontend/frontend.h"

namespace lathe::hf {

/// LlamaForCausalLM.
Graph build_llama(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);

}  // namespace lathe::hf
