#include "executors/cpu/fusion.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "executors/cpu/steps/linear_step.h"

namespace lathe {
namespace {

/// How many steps touch each buffer.
std::vector<int> count_uses(const Plan& plan) {
  std::vector<int> uses(plan.buffers.size(), 0);
  for (const PlannedStep& step : plan.steps) {
    std::vector<BufferId> buffers;
    for (const Access& access : step.accesses) buffers.push_back(access.buffer);
    std::sort(buffers.begin(), buffers.end());
    buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
    for (const BufferId buffer : buffers) ++uses[static_cast<size_t>(buffer)];
  }
  return uses;
}

/// The step of `planned` as a Kind, which it is known to be.
template <typename Kind>
std::unique_ptr<Kind> take(PlannedStep& planned) {
  return std::unique_ptr<Kind>(static_cast<Kind*>(planned.step.release()));
}

/// What is known about two steps that are one now, in the first.
void join(PlannedStep& first, PlannedStep second) {
  first.accesses.insert(first.accesses.end(), second.accesses.begin(), second.accesses.end());
  first.nodes.insert(first.nodes.end(), second.nodes.begin(), second.nodes.end());
  first.multiply_adds += second.multiply_adds;
}

/// norm -> linear. Whether `linear` was taken into `before`.
bool begin_with_rows(Plan& plan, int threads, const std::vector<int>& uses, PlannedStep& before,
                     PlannedStep& behind) {
  const auto* rows = dynamic_cast<const RowStep*>(before.step.get());
  auto* linear = dynamic_cast<LinearStep*>(behind.step.get());
  if (rows == nullptr || linear == nullptr || !linear->can_begin_with(*rows)) return false;
  const BufferId between = rows->rows().y;
  if (plan.buffers[static_cast<size_t>(between)].kind != Buffer::Kind::arena ||
      uses[static_cast<size_t>(between)] != 2) {
    return false;
  }
  const auto codes = static_cast<BufferId>(plan.buffers.size());
  plan.buffers.push_back(
      {.kind = Buffer::Kind::scratch,
       .bytes = static_cast<size_t>(threads * LinearStep::row_codes_bytes(linear->input().k))});
  linear->begin_with(take<RowStep>(before), codes);
  before.step = std::move(behind.step);
  before.only_for = behind.only_for;
  join(before, std::move(behind));
  std::erase_if(before.accesses, [&](const Access& access) { return access.buffer == between; });
  before.accesses.emplace_back(codes);
  return true;
}

/// linear -> add. Whether `behind` was taken into `linear`.
bool end_with_elements(PlannedStep& before, PlannedStep& behind) {
  auto* linear = dynamic_cast<LinearStep*>(before.step.get());
  const auto* elements = dynamic_cast<const ElementwiseStep*>(behind.step.get());
  if (linear == nullptr || elements == nullptr || before.only_for != behind.only_for ||
      !linear->can_end_with(*elements)) {
    return false;
  }
  linear->end_with(take<ElementwiseStep>(behind));
  join(before, std::move(behind));
  return true;
}

}  // namespace

void fuse_steps(Plan& plan, int threads) {
  const std::vector<int> uses = count_uses(plan);
  std::vector<PlannedStep> fused;
  for (PlannedStep& step : plan.steps) {
    const bool taken =
        !fused.empty() && (begin_with_rows(plan, threads, uses, fused.back(), step) ||
                           end_with_elements(fused.back(), step));
    if (!taken) fused.push_back(std::move(step));
  }
  plan.steps = std::move(fused);
}

}  // namespace lathe
