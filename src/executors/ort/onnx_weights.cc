#include "executors/ort/onnx_weights.h"

#include <algorithm>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

constexpr int64_t kInlineBytes = 1024;  // what the onnx package keeps in its files, too
constexpr int64_t kPage = 4096;         // where what is large begins, so that it can be mapped
constexpr int64_t kLine = 64;

void add_entry(onnx::TensorProto& tensor, std::string key, std::string value) {
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(std::move(key));
  entry.set_value(std::move(value));
}

bool is_like(const onnx::TensorProto& tensor, DType dtype, const Shape& shape) {
  return tensor.data_type() == onnx_type(dtype) &&
         std::equal(shape.begin(), shape.end(), tensor.dims().begin(), tensor.dims().end());
}

}  // namespace

OnnxWeights::OnnxWeights(const std::filesystem::path& file)
    : location_(file.filename().string()), file_(file) {}

const onnx::TensorProto& OnnxWeights::tensor(const std::string& name, DType dtype,
                                             const Shape& shape,
                                             const std::function<void(const ByteSink&)>& write) {
  const auto [place, added] = tensors_.try_emplace(name);
  onnx::TensorProto& tensor = place->second;
  if (!added) {
    if (is_like(tensor, dtype, shape)) return tensor;
    fail({.what = "one constant in two forms cannot be exported",
          .where = name,
          .expected = to_string(Shape(tensor.dims().begin(), tensor.dims().end())),
          .found = to_string(shape)});
  }
  tensor.set_name(name);
  tensor.set_data_type(onnx_type(dtype));
  for (const int64_t size : shape) tensor.add_dims(size);
  store(tensor, byte_size(dtype, shape), write);
  return tensor;
}

void OnnxWeights::store(onnx::TensorProto& tensor, int64_t size,
                        const std::function<void(const ByteSink&)>& write) {
  if (size < kInlineBytes) {
    std::string& bytes = *tensor.mutable_raw_data();
    write([&](std::span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    return;
  }
  align(size < kPage ? kLine : kPage);
  add_entry(tensor, "location", location_);
  add_entry(tensor, "offset", std::to_string(file_.size()));
  add_entry(tensor, "length", std::to_string(size));
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  write([&](std::span<const std::byte> piece) { file_.write(piece); });
}

void OnnxWeights::align(int64_t alignment) {
  const int64_t behind = static_cast<int64_t>(file_.size()) % alignment;
  if (behind == 0) return;
  file_.write(std::vector<std::byte>(static_cast<size_t>(alignment - behind)));
}

}  // namespace lathe
