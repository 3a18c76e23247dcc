#include "graph/io_contract.h"

#include <algorithm>

namespace lathe {
namespace {

const IoTensor* find_named(const std::vector<IoTensor>& tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const IoTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

std::string_view name_of(GraphRole role) {
  switch (role) {
    case GraphRole::decode:
      return "decode";
    case GraphRole::prefill:
      return "prefill";
    case GraphRole::calibrate:
      return "calibrate";
  }
  return "";
}

const IoTensor* IoContract::find_input(std::string_view name) const {
  return find_named(inputs, name);
}

const IoTensor* IoContract::find_output(std::string_view name) const {
  return find_named(outputs, name);
}

}  // namespace lathe
