#include "executors/ort/rejected_operators.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lathe {

std::vector<RejectedOperator> rejected_operators(std::string_view log) {
  // Unsupported nodes in QNN EP: { name: layers.3.act, type: Acosh }, { name: ..., type: ... }
  constexpr std::string_view kName = "{ name: ";
  constexpr std::string_view kType = ", type: ";
  constexpr std::string_view kEnd = " }";
  std::vector<RejectedOperator> rejected;
  size_t end = 0;
  while (true) {
    const size_t name = log.find(kName, end);
    const size_t type = name == log.npos ? log.npos : log.find(kType, name);
    end = type == log.npos ? log.npos : log.find(kEnd, type);
    if (end == log.npos) return rejected;

    const auto part = [&](size_t begin, size_t past) {
      return std::string(log.substr(begin, past - begin));
    };
    RejectedOperator found = {part(name + kName.size(), type), part(type + kType.size(), end)};
    if (std::find(rejected.begin(), rejected.end(), found) == rejected.end()) {
      rejected.push_back(std::move(found));
    }
  }
}

}  // namespace lathe
