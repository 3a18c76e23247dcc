#include "graph/check_encoding.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "support/error.h"

namespace lathe {
namespace {

[[noreturn]] void refuse(const Value& value, std::string what, std::string expected = {},
                         std::string found = {}) {
  fail({.what = std::move(what),
        .where = value.name,
        .expected = std::move(expected),
        .found = std::move(found)});
}

void check_block(const Value& value) {
  const Encoding& encoding = *value.encoding;
  if (encoding.block == 0) return;
  const bool size_known = encoding.block == 16 || encoding.block == 32 || encoding.block == 64;
  const bool blocked = value.is_constant() && encoding.dtype == DType::i4 && encoding.axis == 0 &&
                       encoding.zero_point == 0 && value.shape.size() >= 2;
  if (!size_known || !blocked || value.shape[1] % encoding.block != 0) {
    refuse(value, "the encoding has blocks that the tensor cannot have",
           "16, 32 or 64, of i4 weights per channel, dividing their rows",
           std::to_string(encoding.block) + " of " + std::string(name_of(encoding.dtype)) +
               to_string(value.shape));
  }
}

}  // namespace

void check_encoding(const Value& value) {
  const Encoding& encoding = *value.encoding;
  if (encoding.dtype != value.dtype) {
    refuse(value, "the encoding is of another type", std::string(name_of(value.dtype)),
           std::string(name_of(encoding.dtype)));
  }
  const CodeRange range = code_range(encoding.dtype);
  if (encoding.zero_point < range.low || encoding.zero_point > range.high) {
    refuse(value, "the zero point is not a code",
           std::to_string(range.low) + ".." + std::to_string(range.high),
           std::to_string(encoding.zero_point));
  }
  const auto rank = static_cast<int32_t>(value.shape.size());
  if (encoding.axis < -1 || encoding.axis >= rank) {
    refuse(value, "the axis of the encoding is outside of the tensor", to_string(value.shape),
           std::to_string(encoding.axis));
  }
  const int64_t scales =
      encoding.per_channel() ? value.shape[static_cast<size_t>(encoding.axis)] : 1;
  if (static_cast<int64_t>(encoding.scale.size()) != scales) {
    refuse(value, "the encoding has a wrong number of scales", std::to_string(scales),
           std::to_string(encoding.scale.size()));
  }
  const auto usable = [](float scale) { return std::isfinite(scale) && scale > 0.0f; };
  if (!std::all_of(encoding.scale.begin(), encoding.scale.end(), usable)) {
    refuse(value, "a scale is not a positive number");
  }
  check_block(value);
}

}  // namespace lathe
