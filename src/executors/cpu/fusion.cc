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
    buffers.reserve(step.accesses.size());
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

/// linear -> add, with `before` a step of this kind. Whether `behind` was taken into it.
template <typename Kind>
bool end_with_elements(PlannedStep& before, PlannedStep& behind) {
  auto* step = dynamic_cast<Kind*>(before.step.get());
  const auto* elements = dynamic_cast<const ElementwiseStep*>(behind.step.get());
  if (step == nullptr || elements == nullptr || before.only_for != behind.only_for ||
      !step->can_end_with(*elements)) {
    return false;
  }
  step->end_with(take<ElementwiseStep>(behind));
  join(before, std::move(behind));
  return true;
}

/// Whether two steps touch the same memory.
bool meet(const PlannedStep& a, const PlannedStep& b) {
  return std::any_of(a.accesses.begin(), a.accesses.end(), [&](const Access& access) {
    return std::any_of(b.accesses.begin(), b.accesses.end(),
                       [&](const Access& other) { return other.buffer == access.buffer; });
  });
}

/// Whether `step` was taken into the nearest of `steps` that it has to do with.
bool end_one_with_elements(std::vector<PlannedStep>& steps, PlannedStep& step) {
  if (dynamic_cast<const ElementwiseStep*>(step.step.get()) == nullptr) return false;
  const auto nearest = std::find_if(steps.rbegin(), steps.rend(),
                                    [&](const PlannedStep& before) { return meet(before, step); });
  return nearest != steps.rend() && (end_with_elements<LinearStep>(*nearest, step) ||
                                     end_with_elements<RowStep>(*nearest, step));
}

}  // namespace

void fuse_steps(Plan& plan, int threads) {
  const std::vector<int> uses = count_uses(plan);
  std::vector<PlannedStep> fused;
  for (PlannedStep& step : plan.steps) {
    const bool taken =
        !fused.empty() && (begin_with_rows(plan, threads, uses, fused.back(), step) ||
                           end_one_with_elements(fused, step));
    if (!taken) fused.push_back(std::move(step));
  }
  plan.steps = std::move(fused);
}

}  // namespace lathe
