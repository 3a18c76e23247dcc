#include "cli/inspect_plan.h"

#include <fmt/format.h>

#include <iostream>

#include "cli/output.h"
#include "executors/cpu/plan_listing.h"
#include "support/thread_pool.h"

namespace lathe::cli {
namespace {

StepCost total(const std::vector<ListedStep>& steps) {
  StepCost sum;
  for (const ListedStep& step : steps) sum += step.cost;
  return sum;
}

void add_cost(nlohmann::ordered_json& json, const StepCost& cost) {
  json["weight_bytes"] = cost.weight_bytes;
  json["cache_bytes"] = cost.cache_bytes;
  json["activation_bytes"] = cost.activation_bytes;
  json["multiply_adds"] = cost.multiply_adds;
}

void print_row(const std::string& name, const StepCost& cost, const std::string& computes) {
  std::cout << fmt::format("{:<28}{:>12}{:>12}{:>12}{:>15}{}{}\n", name, cost.weight_bytes,
                           cost.cache_bytes, cost.activation_bytes, cost.multiply_adds,
                           computes.empty() ? "" : "  ", computes);
}

void print_steps(const std::vector<ListedStep>& steps) {
  for (const RepeatedSteps& stretch : fold_repeated(steps)) {
    const bool repeated = stretch.times > 1;
    if (repeated) std::cout << fmt::format("x {}\n", stretch.times);
    for (size_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
      const std::string computes = join_modules(steps[i].modules);
      print_row((repeated ? "  " : "") + steps[i].name, steps[i].cost,
                repeated ? without_numbers(computes) : computes);
    }
  }
}

}  // namespace

void print_plan(const Graph& graph, bool json) {
  const Plan plan = lower(graph, thread_count(0));
  const std::vector<ListedStep> steps = list_steps(graph, plan);
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ListedStep& step : steps) {
      nlohmann::ordered_json& item =
          list.emplace_back(nlohmann::ordered_json{{"step", step.name}, {"modules", step.modules}});
      add_cost(item, step.cost);
    }
    nlohmann::ordered_json report{{"graph", name_of(graph.role())}, {"steps", std::move(list)}};
    add_cost(report, total(steps));
    report["arena_bytes"] = plan.arena_bytes;
    print_json(report);
    return;
  }
  std::cout << fmt::format(
      "{} plan: {} tokens per call, {} steps; bytes at full context {}\n"
      "{:<28}{:>12}{:>12}{:>12}{:>15}  computes\n",
      name_of(graph.role()), graph.tokens_per_call(), steps.size(), graph.context(), "step",
      "weights", "cache", "activations", "multiply-adds");
  print_steps(steps);
  print_row("all steps", total(steps), "");
  std::cout << fmt::format("arena {} bytes\n", plan.arena_bytes);
}

}  // namespace lathe::cli
