#include "quant/weight_format.h"

#include <fmt/format.h>

namespace lathe {

std::string to_string(const WeightFormat& format) {
  if (format.block == 0) return fmt::format("{} per channel", name_of(format.dtype));
  return fmt::format("{} in blocks of {}", name_of(format.dtype), format.block);
}

std::string form_of(const WeightFormat& format) {
  if (format.block == 0) return std::string(name_of(format.dtype));
  return fmt::format("{}b{}", name_of(format.dtype), format.block);
}

}  // namespace lathe
