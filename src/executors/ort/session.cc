#include "executors/ort/session.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executors/ort/context_wrapper.h"
#include "executors/ort/library.h"
#include "executors/ort/loaded_model.h"
#include "executors/ort/onnx_types.h"
#include "support/error.h"

namespace lathe {
namespace {

std::string describe(int element_type, const Shape& shape) {
  constexpr DType kTypes[] = {DType::f32, DType::u8,  DType::i8, DType::u16,
                              DType::i16, DType::i32, DType::i64};
  for (const DType dtype : kTypes) {
    if (onnx_type(dtype) == element_type) return std::string(name_of(dtype)) + to_string(shape);
  }
  return "ONNX type " + std::to_string(element_type) + to_string(shape);
}

class OrtSession final : public Session {
 public:
  OrtSession(const std::filesystem::path& file, IoContract io, const OrtTarget& target)
      : io_(std::move(io)), model_(checked(file, target), settings_for(target)) {
    const std::string where = printable(file.string()) + ": ";
    input_at_ = match(io_.inputs, model_.inputs(), where);
    output_at_ = match(io_.outputs, model_.outputs(), where);
    for (const IoTensor& output : io_.outputs) bind_own(output);
  }

  const IoContract& io() const override { return io_; }

  bool wants_dense_inputs() const override { return true; }

  void bind(std::string_view name, const TensorView& view) override {
    if (const IoTensor* input = io_.find_input(name)) {
      check(*input, view);
      model_.bind_input(input_at_.at(input->name), view);
    } else if (const IoTensor* output = io_.find_output(name)) {
      if (view.data == nullptr) return bind_own(*output);
      check(*output, view);
      model_.bind_output(output_at_.at(output->name), view);
    } else {
      fail({.what = "the graph has no such input or output", .found = printable(name)});
    }
  }

  void run() override { model_.run(); }

 private:
  using Indices = std::map<std::string, size_t, std::less<>>;

  /// The simulator ends the process where it is given more than one graph at once.
  static const std::filesystem::path& checked(const std::filesystem::path& file,
                                              const OrtTarget& target) {
    if (kHtpIsSimulated && target.htp.has_value() && graphs_behind(file) > 1) {
      fail({.what = "the simulator does not load a context of several graphs, only a chip does",
            .where = printable(file.string())});
    }
    return file;
  }

  /// Where the file has each tensor of the contract.
  static Indices match(const std::vector<IoTensor>& contract, const std::vector<OrtTensor>& file,
                       const std::string& where) {
    Indices at;
    for (const IoTensor& tensor : contract) {
      const auto found = std::find_if(file.begin(), file.end(), [&](const OrtTensor& candidate) {
        return candidate.name == tensor.name;
      });
      if (found == file.end()) {
        fail(
            {.what = "the file lacks an input or output", .where = where + printable(tensor.name)});
      }
      if (found->element_type != onnx_type(tensor.dtype) || found->shape != tensor.shape) {
        fail({.what = "the file has another tensor than the contract",
              .where = where + printable(tensor.name),
              .expected = std::string(name_of(tensor.dtype)) + to_string(tensor.shape),
              .found = describe(found->element_type, found->shape)});
      }
      at.emplace(tensor.name, static_cast<size_t>(found - file.begin()));
    }
    for (const OrtTensor& tensor : file) {
      if (at.find(tensor.name) == at.end()) {
        fail({.what = "the contract lacks an input or output of the file",
              .where = where + printable(tensor.name)});
      }
    }
    return at;
  }

  static void check(const IoTensor& tensor, const TensorView& view) {
    if (view.dtype != tensor.dtype || view.shape != tensor.shape || !is_dense(view)) {
      fail({.what = "the bound memory does not fit",
            .where = tensor.name,
            .expected = std::string(name_of(tensor.dtype)) + to_string(tensor.shape) + ", dense",
            .found = std::string(name_of(view.dtype)) + to_string(view.shape)});
    }
  }

  /// ONNX Runtime computes every output, so one that nobody wants needs memory as well.
  void bind_own(const IoTensor& output) {
    std::vector<std::byte>& memory = unbound_[output.name];
    memory.resize(static_cast<size_t>(byte_size(output.dtype, output.shape)));
    model_.bind_output(output_at_.at(output.name),
                       dense_view(output.dtype, output.shape, memory.data()));
  }

  IoContract io_;
  std::map<std::string, std::vector<std::byte>> unbound_;  // outlives the model that writes there
  LoadedModel model_;
  Indices input_at_;
  Indices output_at_;
};

}  // namespace

std::unique_ptr<Session> make_ort_session(const std::filesystem::path& file, IoContract io,
                                          const OrtTarget& target) {
  return std::make_unique<OrtSession>(file, std::move(io), target);
}

}  // namespace lathe
