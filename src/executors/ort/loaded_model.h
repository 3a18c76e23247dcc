#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "executors/ort/ffi.h"
#include "executors/ort/provider_options.h"
#include "support/tensor.h"

namespace lathe {

/// An input or output as the file declares it.
struct OrtTensor {
  std::string name;
  int element_type = 0;  ///< ONNX's TensorProto.DataType; 0: not a tensor
  Shape shape;           ///< -1: left open
};

/// An ONNX file loaded into ONNX Runtime: compiled, where its provider compiles.
class LoadedModel {
 public:
  /// Throws Error with what ONNX Runtime says, or, where the provider rejects operators, their
  /// names and types.
  LoadedModel(const std::filesystem::path& file, const OrtSettings& settings);

  const std::vector<OrtTensor>& inputs() const { return inputs_; }
  const std::vector<OrtTensor>& outputs() const { return outputs_; }

  /// Binds dense memory, which must stay valid until the tensor is bound anew. Throws Error for
  /// memory of another size.
  void bind_input(size_t index, const TensorView& view);
  void bind_output(size_t index, const TensorView& view);
  /// Throws Error with what ONNX Runtime says.
  void run();

 private:
  struct Close {
    void operator()(LatheOrtSession* session) const { lathe_ort_session_close(session); }
  };

  void bind(decltype(&lathe_ort_session_bind_input) bind_to, size_t index, const TensorView& view);

  std::string where_;
  std::unique_ptr<LatheOrtSession, Close> session_;
  std::vector<OrtTensor> inputs_;
  std::vector<OrtTensor> outputs_;
};

}  // namespace lathe
