#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executors/ort/chips.h"

namespace lathe {

/// A Hexagon tensor processor (HTP) to compile for.
struct HtpOptions {
  Chip chip;
  int optimization = 3;  ///< effort of the compiler, 1 to 3
};

/// Where a model runs: on the HTP if one is given, else on the CPU.
struct OrtTarget {
  int threads = 0;  ///< of the CPU; 0: one a core
  std::optional<HtpOptions> htp = {};
};

/// What ONNX Runtime is told when it loads a model.
struct OrtSettings {
  struct Entry {
    std::string key;
    std::string value;
  };

  std::vector<Entry> config;
  std::string provider;  ///< empty: the CPU
  std::vector<Entry> provider_options;
  int threads = 0;
};

/// Throws Error for an effort out of range, and where the HTP's provider is missing.
OrtSettings settings_for(const OrtTarget& target);

}  // namespace lathe
