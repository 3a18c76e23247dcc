#pragma once

#include <cstdint>

namespace lathe::test {

/// How often this program has allocated so far, in any thread: operator new of the test binary
/// counts.
int64_t allocations();

}  // namespace lathe::test
