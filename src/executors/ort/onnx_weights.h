#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "executors/ort/onnx.pb.h"
#include "executors/ort/onnx_rows.h"
#include "executors/ort/onnx_types.h"
#include "support/output_file.h"

namespace lathe {

/// The large tensors of several ONNX files in one file beside them (external data), each stored
/// once under its name; small ones stay in the ONNX files.
class OnnxWeights {
 public:
  /// Begins to write `file`; commit() puts it in its place.
  explicit OnnxWeights(const std::filesystem::path& file);

  /// The tensor `name` of that type and shape, whose `size` bytes `write` gives. They are written
  /// when the name is new. Throws Error where the name is known with another type or shape.
  const onnx::TensorProto& tensor(const std::string& name, DType dtype, const Shape& shape,
                                  const std::function<void(const ByteSink&)>& write);

  void commit() { file_.commit(); }

 private:
  void store(onnx::TensorProto& tensor, int64_t size,
             const std::function<void(const ByteSink&)>& write);
  void align(int64_t alignment);

  std::string location_;
  OutputFile file_;
  std::map<std::string, onnx::TensorProto> tensors_;
};

}  // namespace lathe
