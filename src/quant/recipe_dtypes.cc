#include "quant/recipe_dtypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace lathe {
namespace {

constexpr std::array<RecipeDtype, 6> kDtypes{{{"8a8w", DType::u8, DType::i8, false},
                                              {"8a4w", DType::u8, DType::i4, false},
                                              {"16a8w", DType::u16, DType::i8, false},
                                              {"16a4w", DType::u16, DType::i4, false},
                                              {"16a4w_block", DType::u16, DType::i4, true},
                                              {"16a16w", DType::u16, DType::i16, false}}};

}  // namespace

const RecipeDtype* recipe_dtype(std::string_view name) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const RecipeDtype& dtype) { return dtype.name == name; });
  return found == kDtypes.end() ? nullptr : &*found;
}

std::string recipe_dtype_names() {
  std::vector<std::string_view> names;
  for (const RecipeDtype& dtype : kDtypes) names.push_back(dtype.name);
  return fmt::format("one of {}", fmt::join(names, ", "));
}

}  // namespace lathe
