#pragma once

#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"

namespace lathe {

/// The tensors that a model of this config has, with the names and shapes of Hugging Face's
/// modeling code, sorted by name. `lm_head.weight` is among them unless the embeddings are tied.
std::vector<TensorInfo> expected_tensors(const ModelConfig& config);

/// Throws Error where the shape that a file has for a tensor is not the expected one.
void check_shape(const TensorInfo& expected, const Shape& found, const std::string& where);

/// Throws Error for tensors that a checkpoint lacks (at least one name).
[[noreturn]] void fail_missing(const std::vector<std::string>& names, const std::string& where);

}  // namespace lathe
