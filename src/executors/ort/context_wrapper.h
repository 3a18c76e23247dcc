#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace lathe {

/// Where a compiled graph is.
struct ContextPlace {
  std::string binary;  ///< a context binary in the folder of the ONNX file
  size_t graphs = 1;   ///< that the binary holds
};

/// Lets the ONNX file that stands for a compiled graph point at `place`. Returns the graph's name
/// in the binary. Throws Error where the file is not such a one.
std::string point_at_context(const std::filesystem::path& wrapper, const ContextPlace& place);

/// How many graphs the context binary holds that an ONNX file points at; 0 for any other file.
size_t graphs_behind(const std::filesystem::path& file);

}  // namespace lathe
