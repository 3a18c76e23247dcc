#pragma once

#include <string>

#include "api/variants.h"

namespace lathe::cli {

/// The comparison as one HTML page that needs nothing else: bar charts as inline SVG, the table, no
/// script; light or dark as the reader's system is.
std::string variants_page(const VariantsReport& report);

}  // namespace lathe::cli
