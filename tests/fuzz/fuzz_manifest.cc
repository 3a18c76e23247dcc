// Any bytes as the manifest of an export: parsed or refused with Error, nothing else.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "artifact/manifest.h"
#include "support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const lathe::Manifest manifest =
        lathe::parse_manifest({reinterpret_cast<const char*>(data), size}, "input");
    // What is accepted is written in a form that is accepted.
    lathe::parse_manifest(lathe::manifest_json(manifest), "output");
  } catch (const lathe::Error&) {
  }
  return 0;
}
