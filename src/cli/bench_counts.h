#pragma once

#include <filesystem>

#include "api/variant_counts.h"

namespace lathe::cli {

/// What lathe bench --variants SRC --executor htp --counts is asked for.
struct CountsArguments {
  std::filesystem::path source;
  VariantCountsOptions options = {};
  bool json = false;
};

/// Ends with CLI::RuntimeError(1) where hf has more of something than static.
void bench_counts(const CountsArguments& arguments);

}  // namespace lathe::cli
