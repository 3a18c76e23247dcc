// Any bytes as the account that Qualcomm's compiler gives of a graph: read or refused with Error,
// nothing else.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "executors/ort/qnn_dump.h"
#include "support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const lathe::CompiledGraph graph =
        lathe::summarize_qnn_dump({reinterpret_cast<const char*>(data), size}, "input");
    if (graph.boundary_bytes < 0 || graph.operator_count() < 0) __builtin_trap();
  } catch (const lathe::Error&) {
  }
  return 0;
}
