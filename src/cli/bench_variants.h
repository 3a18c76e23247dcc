#pragma once

#include <filesystem>

#include "api/variants.h"

namespace lathe::cli {

/// What lathe bench --variants SRC is asked for.
struct VariantsArguments {
  std::filesystem::path source;
  VariantsOptions options = {};
  std::filesystem::path text = {};    ///< file to evaluate on; empty: the built-in text
  std::filesystem::path report = {};  ///< HTML page to write; empty: none
  bool json = false;
};

void bench_variants(const VariantsArguments& arguments);

}  // namespace lathe::cli
