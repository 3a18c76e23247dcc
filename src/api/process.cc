#include "api/process.h"

#include <sys/resource.h>

namespace lathe {

int64_t peak_rss_bytes() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace lathe
