#pragma once

#include <string>
#include <vector>

#include "executors/cpu/plan_cost.h"

namespace lathe {

/// A step as people read it.
struct ListedStep {
  std::string name = {};                  ///< "linear"
  std::vector<std::string> modules = {};  ///< Hugging Face modules of what it computes, each once
  StepCost cost = {};
};
/// The steps of the plan that lower() made of this graph, in order.
std::vector<ListedStep> list_steps(const Graph& graph, const Plan& plan);

/// Several module paths in one: "model.layers.0.self_attn.{q_proj, k_proj}". A module that holds
/// another of them goes without saying.
std::string join_modules(const std::vector<std::string>& modules);

/// Steps that are run `times` times in a row, the numbers in their modules aside.
struct RepeatedSteps {
  size_t first = 0;
  size_t count = 0;
  size_t times = 1;
};
/// All steps, with equal neighbours folded: the longest stretch that repeats first, from the
/// beginning on.
std::vector<RepeatedSteps> fold_repeated(const std::vector<ListedStep>& steps);

/// "model.layers.3.mlp" -> "model.layers.*.mlp"
std::string without_numbers(const std::string& module);

}  // namespace lathe
