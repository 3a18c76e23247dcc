#include "graph/constant_floats.h"

namespace lathe {

std::vector<float> constant_floats(const Value& constant) {
  std::vector<float> numbers(static_cast<size_t>(elements(constant.shape)));
  constant.constant->floats->read(0, elements(constant.shape), numbers.data());
  return numbers;
}

}  // namespace lathe
