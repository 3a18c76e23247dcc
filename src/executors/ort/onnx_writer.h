#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "graph/graph.h"

namespace lathe {

/// A graph and the name of its file, without the ending.
struct NamedGraph {
  std::string name;
  const Graph* graph = nullptr;
};

/// Writes integer graphs of one model as QDQ ONNX (opset 23): `name`.onnx each, and beside
/// them `weights_file` with every large constant once. Each value of a graph is a tensor of codes
/// named like it (an output's like the output), each constant an initializer of the same name in
/// all files. The same graphs give the same bytes. Throws Error for an operator that has no form in
/// ONNX, for a constant without codes, and where the folder cannot be written to.
void write_onnx(std::span<const NamedGraph> graphs, const std::filesystem::path& folder,
                const std::string& weights_file = "weights.bin");

}  // namespace lathe
