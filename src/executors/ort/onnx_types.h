#pragma once

#include "executors/ort/onnx.pb.h"
#include "support/tensor.h"

namespace lathe {

/// ONNX's number of an element type.
onnx::TensorProto::DataType onnx_type(DType dtype);

}  // namespace lathe
