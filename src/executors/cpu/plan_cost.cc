#include "executors/cpu/plan_cost.h"

#include <set>

#include "graph/io_contract.h"

namespace lathe {

StepCost& StepCost::operator+=(const StepCost& other) {
  weight_bytes += other.weight_bytes;
  cache_bytes += other.cache_bytes;
  activation_bytes += other.activation_bytes;
  multiply_adds += other.multiply_adds;
  return *this;
}

StepCost cost_of(const Plan& plan, const PlannedStep& step) {
  StepCost cost;
  cost.multiply_adds = step.multiply_adds;
  std::set<BufferId> counted;
  for (const Access& access : step.accesses) {
    if (!counted.insert(access.buffer).second) continue;
    const Buffer& buffer = plan.buffers[static_cast<size_t>(access.buffer)];
    const int64_t bytes = access.bytes.value_or(static_cast<int64_t>(buffer.bytes));
    switch (buffer.kind) {
      case Buffer::Kind::constant:
        cost.weight_bytes += bytes;
        break;
      case Buffer::Kind::input:
      case Buffer::Kind::output:
        (holds_cache(buffer.name) ? cost.cache_bytes : cost.activation_bytes) += bytes;
        break;
      case Buffer::Kind::arena:
        cost.activation_bytes += bytes;
        break;
      case Buffer::Kind::scratch:
        break;
    }
  }
  return cost;
}

}  // namespace lathe
