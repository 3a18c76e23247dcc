#include "executors/cpu/plan_listing.h"

#include <algorithm>

namespace lathe {
namespace {

bool holds(const std::string& module, const std::string& other) {
  return other.size() > module.size() && other.starts_with(module) &&
         (module.empty() || other[module.size()] == '.');
}

/// Length of what all paths begin with, up to and including a dot.
size_t common_prefix(const std::vector<std::string>& paths) {
  const std::string& first = paths.front();
  size_t length = first.size();
  for (const std::string& path : paths) {
    const auto end = std::mismatch(first.begin(), first.end(), path.begin(), path.end()).first;
    length = std::min(length, static_cast<size_t>(end - first.begin()));
  }
  const size_t dot = length == 0 ? std::string::npos : first.rfind('.', length - 1);
  return dot == std::string::npos ? 0 : dot + 1;
}

/// What two steps of different layers have in common.
bool alike(const ListedStep& a, const ListedStep& b) {
  return a.name == b.name && a.cost == b.cost &&
         std::equal(a.modules.begin(), a.modules.end(), b.modules.begin(), b.modules.end(),
                    [](const std::string& x, const std::string& y) {
                      return without_numbers(x) == without_numbers(y);
                    });
}

/// How often `count` steps from `first` on stand there in a row.
size_t repetitions(const std::vector<ListedStep>& steps, size_t first, size_t count) {
  size_t end = first + count;
  while (end < steps.size() && alike(steps[end], steps[end - count])) ++end;
  return (end - first) / count;
}

}  // namespace

std::vector<ListedStep> list_steps(const Graph& graph, const Plan& plan) {
  std::vector<ListedStep> list;
  for (const PlannedStep& step : plan.steps) {
    ListedStep listed{step.step->name(), {}, cost_of(plan, step)};
    for (const NodeId id : step.nodes) {
      const std::string& module = graph.node(id).module;
      if (std::find(listed.modules.begin(), listed.modules.end(), module) == listed.modules.end()) {
        listed.modules.push_back(module);
      }
    }
    list.push_back(std::move(listed));
  }
  return list;
}

std::string join_modules(const std::vector<std::string>& modules) {
  std::vector<std::string> shown;
  for (const std::string& module : modules) {
    const bool implied = std::any_of(modules.begin(), modules.end(), [&](const std::string& other) {
      return holds(module, other);
    });
    if (!implied) shown.push_back(module);
  }
  if (shown.empty()) return "";
  if (shown.size() == 1) return shown.front();
  const size_t prefix = common_prefix(shown);
  std::string text = shown.front().substr(0, prefix) + "{";
  for (const std::string& module : shown) {
    if (text.back() != '{') text += ", ";
    text += module.substr(prefix);
  }
  return text + "}";
}

std::vector<RepeatedSteps> fold_repeated(const std::vector<ListedStep>& steps) {
  std::vector<RepeatedSteps> folded;
  size_t first = 0;
  while (first < steps.size()) {
    RepeatedSteps best{first, 1, 1};
    for (size_t count = 1; count <= (steps.size() - first) / 2; ++count) {
      const size_t times = repetitions(steps, first, count);
      if (times > 1 && count * times > best.count * best.times) best = {first, count, times};
    }
    folded.push_back(best);
    first += best.count * best.times;
  }
  return folded;
}

std::string without_numbers(const std::string& module) {
  std::string text;
  size_t begin = 0;
  while (begin <= module.size()) {
    const size_t end = std::min(module.find('.', begin), module.size());
    const std::string part = module.substr(begin, end - begin);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
    if (begin > 0) text += '.';
    text += number ? "*" : part;
    begin = end + 1;
  }
  return text;
}

}  // namespace lathe
