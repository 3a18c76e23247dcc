#pragma once

#include <span>
#include <string_view>

namespace lathe {

/// A Snapdragon chip with a Hexagon tensor processor (HTP), as Qualcomm's compiler knows it.
struct Chip {
  std::string_view name;  ///< "SM8750"
  int id;                 ///< what the compiler calls soc_model
  int arch;               ///< generation of the HTP: 79 for V79
  int vtcm_mb;            ///< tightly coupled memory that graphs may use, in MB
};

/// The oldest HTP where graphs of one context binary share their weights.
inline constexpr int kWeightSharingArch = 73;
/// The oldest HTP that multiplies 16-bit by 16-bit matrices: a 16-bit KV cache.
inline constexpr int kWideCacheArch = 73;
/// The oldest HTP that takes int4 weights with a scale per block.
inline constexpr int kBlockWeightsArch = 69;

/// All chips that a context binary can be made for.
std::span<const Chip> chips();

/// The chip of a name ("SM8750", in any case), an id ("69") or an arch ("v79": the most common chip
/// of that generation). Throws Error that lists the names for any other text.
const Chip& find_chip(std::string_view text);

}  // namespace lathe
