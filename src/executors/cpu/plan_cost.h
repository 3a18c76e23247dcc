#pragma once

#include "executors/cpu/plan.h"

namespace lathe {

/// What one run of a step moves and computes. Each buffer counts once, whether read or written, and
/// caches are taken as full; memory that a step uses by itself does not count.
struct StepCost {
  int64_t weight_bytes = 0;      ///< constants as they are stored; of a table the rows of one call
  int64_t cache_bytes = 0;       ///< keys and values, cached and new
  int64_t activation_bytes = 0;  ///< all others
  int64_t multiply_adds = 0;     ///< of matrix products

  StepCost& operator+=(const StepCost& other);
  bool operator==(const StepCost&) const = default;
};

StepCost cost_of(const Plan& plan, const PlannedStep& step);

}  // namespace lathe
