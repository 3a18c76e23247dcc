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

std::optional<GraphRole> role_named(std::string_view name) {
  for (const GraphRole role : {GraphRole::decode, GraphRole::prefill, GraphRole::calibrate}) {
    if (name_of(role) == name) return role;
  }
  return std::nullopt;
}

bool is_attention_mask(std::string_view name) {
  return name == "attention_mask" || name == "window_attention_mask";
}

bool holds_cache(std::string_view name) {
  if (name.starts_with("k_cache_") || name.starts_with("v_cache_")) return true;
  if (name.starts_with("k_new_") || name.starts_with("v_new_")) return true;
  const bool of_layer = name.starts_with("layers.") || name.starts_with("static_cache.layers.");
  return of_layer && (name.ends_with(".keys") || name.ends_with(".values"));
}

int64_t cache_bytes(std::span<const IoTensor> tensors) {
  int64_t bytes = 0;
  for (const IoTensor& tensor : tensors) {
    if (holds_cache(tensor.name)) bytes += byte_size(tensor.dtype, tensor.shape);
  }
  return bytes;
}

const IoTensor* IoContract::find_input(std::string_view name) const {
  return find_named(inputs, name);
}

const IoTensor* IoContract::find_output(std::string_view name) const {
  return find_named(outputs, name);
}

}  // namespace lathe
