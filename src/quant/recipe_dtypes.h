#pragma once

#include <string>
#include <string_view>

#include "support/tensor.h"

namespace lathe {

/// What a dtype of a recipe stands for.
struct RecipeDtype {
  std::string_view name;  ///< "16a4w_block": bits of activations, bits of weights
  DType activation = DType::u16;
  DType weight = DType::i8;
  bool blocks = false;  ///< weights are in blocks, of a size that is said beside the dtype
};

/// Nullptr where there is none of that name.
const RecipeDtype* recipe_dtype(std::string_view name);
/// "one of 8a8w, ..."
std::string recipe_dtype_names();

}  // namespace lathe
