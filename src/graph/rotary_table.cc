#include "graph/rotary_table.h"

#include <cmath>

namespace lathe {

std::vector<float> rotary_table(Op function, std::span<const float> frequencies, int64_t context,
                                double scaling) {
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(context) * frequencies.size());
  for (int64_t position = 0; position < context; ++position) {
    for (const float frequency : frequencies) {
      const float angle = static_cast<float>(position) * frequency;
      const float number = function == Op::cos ? std::cos(angle) : std::sin(angle);
      rows.push_back(number * static_cast<float>(scaling));
    }
  }
  return rows;
}

}  // namespace lathe
