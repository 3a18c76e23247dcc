// Any bytes as a config.json: parsed or refused with Error, nothing else.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "checkpoint/config.h"
#include "checkpoint/expected_tensors.h"
#include "support/error.h"
#include "support/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto config = lathe::parse_model_config(lathe::parse_json(text, "input"), "input");
    // Every config that is accepted has shapes that can be counted without overflow.
    for (const auto& tensor : lathe::expected_tensors(config)) {
      if (lathe::checked_elements(tensor.shape) <= 0) __builtin_trap();
    }
  } catch (const lathe::Error&) {
  }
  return 0;
}
