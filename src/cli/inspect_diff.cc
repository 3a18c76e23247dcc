#include "cli/inspect_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "artifact/read.h"
#include "cli/output.h"
#include "graph/diff.h"
#include "support/error.h"

namespace lathe::cli {
namespace {

struct RoleDiff {
  GraphRole role = GraphRole::decode;
  GraphDiff diff;
};

std::vector<RoleDiff> compare(const Model& first, const Model& second) {
  std::vector<RoleDiff> compared;
  for (const GraphRole role : {GraphRole::decode, GraphRole::prefill}) {
    const Graph* a = first.find(role);
    const Graph* b = second.find(role);
    if (a != nullptr && b != nullptr) compared.push_back({role, diff(*a, *b)});
  }
  return compared;
}

nlohmann::ordered_json to_json(const RoleDiff& compared) {
  const GraphDiff& diff = compared.diff;
  nlohmann::ordered_json operators = nlohmann::ordered_json::object();
  for (const auto& [name, counts] : diff.operators) operators[name] = counts;
  nlohmann::ordered_json json{{"graph", name_of(compared.role)},
                              {"relation", name_of(diff.relation)},
                              {"nodes", diff.nodes},
                              {"operators", operators},
                              {"difference", nullptr}};
  if (diff.difference) {
    const GraphDifference& found = *diff.difference;
    json["difference"] = {{"what", found.what},   {"output", found.output},
                          {"path", found.path},   {"module", found.module},
                          {"first", found.first}, {"second", found.second}};
  }
  return json;
}

/// The end of the way is what a reader looks for: the operators next to the difference.
std::string path_text(const std::vector<std::string>& path) {
  constexpr size_t kShown = 5;
  std::string text;
  if (path.size() > kShown) text = fmt::format(" <- {} operators", path.size() - kShown);
  for (size_t i = path.size() - std::min(path.size(), kShown); i < path.size(); ++i) {
    text += " <- " + path[i];
  }
  return text;
}

void print(const GraphDifference& difference) {
  std::cout << "  " << difference.what << '\n';
  if (!difference.output.empty()) {
    std::cout << "  on the way: output " << difference.output << path_text(difference.path) << '\n';
  }
  if (!difference.module.empty()) std::cout << "  module: " << difference.module << '\n';
  if (!difference.first.empty()) std::cout << "  first:  " << difference.first << '\n';
  if (!difference.second.empty()) std::cout << "  second: " << difference.second << '\n';
}

void print(const RoleDiff& compared) {
  const GraphDiff& diff = compared.diff;
  const auto [first, second] = diff.nodes;
  const std::string_view role = name_of(compared.role);
  switch (diff.relation) {
    case GraphRelation::isomorphic:
      std::cout << fmt::format("{}: isomorphic, {} nodes\n", role, first);
      return;
    case GraphRelation::first_smaller:
    case GraphRelation::second_smaller:
      std::cout << fmt::format("{}: the same function with fewer nodes in the {}: {} and {}\n",
                               role, first < second ? "first" : "second", first, second);
      break;
    case GraphRelation::different:
      std::cout << fmt::format("{}: different, {} and {} nodes\n", role, first, second);
      break;
  }
  for (const auto& [name, counts] : diff.operators) {
    std::cout << fmt::format("  {:<18} {} and {}\n", name, counts[0], counts[1]);
  }
  print(*diff.difference);
}

}  // namespace

bool print_diff(const std::filesystem::path& first, const std::filesystem::path& second,
                bool json) {
  const std::vector<RoleDiff> compared =
      compare(read_model(first, WeightCheck::sizes), read_model(second, WeightCheck::sizes));
  if (compared.empty()) {
    fail({.what = "the two artifacts have no graph of the same role",
          .where = first.string() + " and " + second.string()});
  }
  const bool isomorphic = std::all_of(compared.begin(), compared.end(), [](const RoleDiff& role) {
    return role.diff.relation == GraphRelation::isomorphic;
  });
  if (!json) {
    for (const RoleDiff& role : compared) print(role);
    return isomorphic;
  }
  nlohmann::ordered_json graphs = nlohmann::ordered_json::array();
  for (const RoleDiff& role : compared) graphs.push_back(to_json(role));
  print_json({{"isomorphic", isomorphic}, {"graphs", graphs}});
  return isomorphic;
}

}  // namespace lathe::cli
