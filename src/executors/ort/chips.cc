#include "executors/ort/chips.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

// From the documentation of Qualcomm's AI Engine Direct SDK. Phones come first: the first chip of a
// generation is the one that its arch stands for.
constexpr std::array kChips = {
    Chip{"SM8350", 30, 68, 4},   Chip{"SM8450", 36, 69, 8},   Chip{"SM8475", 42, 69, 8},
    Chip{"SM8550", 43, 73, 8},   Chip{"SM8650", 57, 75, 8},   Chip{"SM8750", 69, 79, 8},
    Chip{"SM8850", 87, 81, 8},   Chip{"SM8845", 97, 81, 8},   Chip{"QCM6490", 93, 68, 2},
    Chip{"QCS9100", 77, 73, 8},  Chip{"SA8255", 52, 73, 8},   Chip{"SA8295", 39, 68, 8},
    Chip{"SA8797", 72, 81, 16},  Chip{"SAR2230P", 95, 81, 4}, Chip{"SSG2115P", 46, 73, 2},
    Chip{"SSG2125P", 58, 73, 2}, Chip{"SW6100", 96, 81, 4},   Chip{"SXR1230P", 45, 73, 2},
    Chip{"SXR2230P", 53, 69, 8}, Chip{"SXR2330P", 75, 79, 8},
};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

}  // namespace

std::span<const Chip> chips() { return kChips; }

const Chip& find_chip(std::string_view text) {
  const std::string wanted = upper(text);
  const auto chip = std::find_if(kChips.begin(), kChips.end(), [&](const Chip& candidate) {
    return wanted == candidate.name || wanted == std::to_string(candidate.id) ||
           wanted == "V" + std::to_string(candidate.arch);
  });
  if (chip != kChips.end()) return *chip;

  std::vector<std::string_view> names;
  for (const Chip& known : kChips) names.push_back(known.name);
  fail(
      {.what = "unknown chip",
       .expected = fmt::format("an id, an arch such as v79, or a name: {}", fmt::join(names, ", ")),
       .found = printable(text)});
}

}  // namespace lathe
