#pragma once

#include "executors/ort/onnx_node.h"

namespace lathe {

/// Writes a node as operators of ONNX (opset 23) in QDQ form. Throws Error, with the operator and
/// its place, for an operator that has no such form.
void write_operator(OnnxNode& node);

}  // namespace lathe
