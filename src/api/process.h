#pragma once

#include <cstdint>

namespace lathe {

/// The most memory that this process has had at one time, in bytes.
int64_t peak_rss_bytes();

}  // namespace lathe
