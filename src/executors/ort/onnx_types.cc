#include "executors/ort/onnx_types.h"

namespace lathe {

onnx::TensorProto::DataType onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return onnx::TensorProto::FLOAT;
    case DType::f16:
      return onnx::TensorProto::FLOAT16;
    case DType::bf16:
      return onnx::TensorProto::BFLOAT16;
    case DType::i64:
      return onnx::TensorProto::INT64;
    case DType::i32:
      return onnx::TensorProto::INT32;
    case DType::u16:
      return onnx::TensorProto::UINT16;
    case DType::i16:
      return onnx::TensorProto::INT16;
    case DType::u8:
      return onnx::TensorProto::UINT8;
    case DType::i8:
      return onnx::TensorProto::INT8;
    case DType::i4:
      return onnx::TensorProto::INT4;
    case DType::boolean:
      return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

}  // namespace lathe
