// Any bytes as a safetensors file: every tensor that is accepted lies within the bytes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/error.h"
#include "support/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    for (const auto& entry : lathe::parse_safetensors(bytes, "input").entries) {
      if (entry.begin > size || entry.size > size - entry.begin) __builtin_trap();
    }
  } catch (const lathe::Error&) {
  }
  return 0;
}
