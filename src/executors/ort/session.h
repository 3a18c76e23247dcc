#pragma once

#include <filesystem>
#include <memory>

#include "executors/ort/provider_options.h"
#include "executors/session.h"

namespace lathe {

/// A session of ONNX Runtime over one ONNX file: QDQ nodes, or a wrapper around a context binary.
/// `io` is what the file's graph is used as; a tensor of the file that is not in it is an error
/// too. Bound memory is used in place. Views must be dense. Throws Error where ONNX Runtime is
/// missing, where it or its provider refuses the file, and where the file's tensors are not those
/// of `io`. Unlike other sessions', run() may throw Error: a device can fail.
std::unique_ptr<Session> make_ort_session(const std::filesystem::path& file, IoContract io,
                                          const OrtTarget& target);

}  // namespace lathe
