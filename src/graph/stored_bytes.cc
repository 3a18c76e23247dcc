#include "graph/stored_bytes.h"

#include <string>

#include "graph/packed_weights.h"
#include "support/error.h"

namespace lathe {

int64_t stored_bytes(const Value& value) {
  if (value.constant->layout == Layout::rows) return byte_size(value.dtype, value.shape);
  if (value.dtype != DType::i8 || value.shape.size() != 2) {
    fail({.what = "only matrices of i8 are packed",
          .where = value.name,
          .expected = "i8[channels, k]",
          .found = std::string(name_of(value.dtype)) + to_string(value.shape)});
  }
  return static_cast<int64_t>(packed_constant_bytes(value.shape[0], value.shape[1]));
}

}  // namespace lathe
