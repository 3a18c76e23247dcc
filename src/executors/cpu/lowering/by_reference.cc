#include <utility>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/reference_step.h"

namespace lathe {

void lower_by_reference(PlanBuilder& plan, const Node& node) {
  ReferenceSpec spec{plan.graph(), node.id, {}, {}};
  std::vector<Access> accesses;
  for (const ValueId id : node.inputs) {
    spec.inputs.push_back(plan.dense(id));
    accesses.emplace_back(spec.inputs.back().buffer);
  }
  for (const ValueId id : node.outputs) {
    spec.outputs.push_back(plan.define(id));
    accesses.emplace_back(spec.outputs.back());
  }
  plan.emit(make_reference_step(std::move(spec)), std::move(accesses));
}

}  // namespace lathe
