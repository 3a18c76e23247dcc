#pragma once

#include <cmath>
#include <limits>

namespace lathe {

/// 10 log10 of the power of a signal over that of its error; infinity for no error.
inline double decibels(double signal, double noise) {
  return noise > 0.0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

}  // namespace lathe
