#include "graph/stored_bytes.h"

#include <string>

#include "graph/packed_weights.h"
#include "support/error.h"

namespace lathe {

int64_t stored_bytes(const Value& value) {
  const bool packed = value.constant->layout == Layout::packed;
  if (!packed && value.dtype != DType::i4) return byte_size(value.dtype, value.shape);
  const bool matrix = value.shape.size() == 2 ||
                      (value.shape.size() == 4 && value.shape[2] == 1 && value.shape[3] == 1);
  if (!packed || !matrix || (value.dtype != DType::i8 && value.dtype != DType::i4)) {
    fail({.what = "what is packed is a matrix of i8 or i4, and i4 is packed always",
          .where = value.name,
          .expected = "[channels, k] or [channels, k, 1, 1]",
          .found = (packed ? "packed " : "rows of ") + std::string(name_of(value.dtype)) +
                   to_string(value.shape)});
  }
  if (value.dtype == DType::i4)
    return static_cast<int64_t>(int4_constant_bytes(int4_matrix(value)));
  return static_cast<int64_t>(packed_constant_bytes(value.shape[0], value.shape[1]));
}

Int4Matrix int4_matrix(const Value& value) {
  return {value.shape[0], value.shape[1], value.encoding ? value.encoding->block : 0};
}

}  // namespace lathe
