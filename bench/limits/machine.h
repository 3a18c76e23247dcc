#pragma once

#include <vector>

#include "executors/cpu/kernels/isa.h"
#include "support/thread_pool.h"

namespace lathe::bench {

/// Of one thread, and of the whole team together.
struct Rates {
  double one = 0.0;
  double all = 0.0;
};

/// Products of two bytes a second, added up in 32 bits, on one instruction set.
struct ProductRates {
  Isa isa = Isa::portable;
  const char* instruction = "";
  Rates from_registers;
  Rates from_l1;
};

/// What no program on this machine can do faster with the instructions that the kernels use.
struct MachineLimits {
  Rates read_bytes;                    ///< a second, of memory far larger than the caches
  std::vector<ProductRates> products;  ///< of each instruction set that there is

  /// None for an instruction set that has no loops.
  const ProductRates* find(Isa isa) const;
};

/// Takes seconds, and 1 GiB of memory. Every rate is the best of several attempts: whatever else
/// the machine does can only make it slower.
MachineLimits measure_limits(ThreadPool& pool);

/// Bytes a second that the whole team reads of memory, over at least `duration` seconds: the median
/// of many passes at the best prefetch distance. Not a limit but what there is just now, for who
/// measures in turns with it: on a shared machine that changes by the second. 0: no loops for this
/// processor.
double sustained_read_rate(ThreadPool& pool, double duration);

}  // namespace lathe::bench
