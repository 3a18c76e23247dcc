#include "graph/quant_spec.h"

#include <array>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

constexpr std::array<std::pair<Scheme, std::string_view>, 5> kSchemes{{
    {Scheme::affine, ""},
    {Scheme::symmetric, "symmetric"},
    {Scheme::unit, "unit"},
    {Scheme::mask, "mask"},
    {Scheme::rotary, "rotary"},
}};

}  // namespace

std::string to_string(const QuantSpec& spec) {
  std::string text(name_of(spec.dtype));
  for (const auto& [scheme, name] : kSchemes) {
    if (scheme == spec.scheme && !name.empty()) text += ":" + std::string(name);
  }
  return text;
}

QuantSpec quant_spec_from(std::string_view text, std::string_view where) {
  const size_t colon = std::min(text.find(':'), text.size());
  QuantSpec spec{dtype_from_name(std::string(text.substr(0, colon)), std::string(where))};
  const std::string_view wanted = colon == text.size() ? "" : text.substr(colon + 1);
  for (const auto& [scheme, name] : kSchemes) {
    if (name != wanted) continue;
    spec.scheme = scheme;
    return spec;
  }
  fail({.what = "no scheme of quantization",
        .where = std::string(where),
        .expected = "symmetric, unit, mask, rotary or none",
        .found = printable(wanted, 20)});
}

}  // namespace lathe
