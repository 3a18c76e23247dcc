#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace lathe::testing {

/// The numbers of a decode graph of two layers that only add: code 100 is 0, a code is 0.5.
struct TwoLayers {
  std::vector<uint16_t> table = {106, 108, 100, 100};  ///< [token][2]: 3 and 4 for 0, 0 for 1
  std::vector<uint16_t> shift = {100, 100};            ///< what layer 1 adds to what comes from 0

  /// first = 2 * row (layer 0), shifted = first + shift, second = shifted + first (layer 1),
  /// logits = second + row. The keys and values of a token are its row, in whole steps of 1; seen
  /// is what the caches of the keys hold.
  Graph graph() const;
};

}  // namespace lathe::testing
