#pragma once

#include <memory>

#include "executors/cpu/place.h"

namespace lathe {

/// Copies a strided tensor to strided memory, element by element where it must be. `from_input`:
/// the source is a graph input, and the strides are those of the view bound to it.
struct CopySpec {
  Shape shape;
  int64_t element_bytes = 1;  ///< 1, 2, 4 or 8
  Place from;
  bool from_input = false;
  Place to;
};
std::unique_ptr<Step> make_copy_step(const CopySpec& spec);

}  // namespace lathe
