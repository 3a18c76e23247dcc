#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "executors/ort/provider_options.h"

namespace lathe {

struct ContextOptions {
  HtpOptions htp;
  /// A folder that gets NAME.json of every graph: what the compiler made of it, operator by
  /// operator (qnn_dump.h reads it). Empty: none.
  std::filesystem::path graph_dump = {};
};

/// Compiles graphs of one model, NAME.onnx in `source` for each of `names`, into one context binary
/// that holds weights of the same name once. Writes to the folder `output`: the binary, named
/// `binary`, and for each graph a small NAME.onnx that points at it. Whatever fails, nothing is
/// left half-written there. Several graphs need a chip of kWeightSharingArch. Throws Error where
/// ONNX Runtime is missing, for an operator that the chip does not have (with its name), and where
/// the folder cannot be written to.
void compile_context(const std::filesystem::path& source, std::span<const std::string> names,
                     const std::filesystem::path& output, const std::string& binary,
                     const ContextOptions& options);

}  // namespace lathe
