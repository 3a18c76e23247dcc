#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "frontend/frontend.h"

namespace lathe::static_form {

/// LlamaForCausalLM.
Graph build_llama(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                  const StaticForm& form);

}  // namespace lathe::static_form
