#include "executors/ort/onnx_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/error.h"

namespace lathe {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(const T& number) {
  return std::as_bytes(std::span(&number, 1));
}

void fill(onnx::ValueInfoProto& info, const OnnxTensor& tensor) {
  info.set_name(tensor.name);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type(tensor.dtype));
  type.mutable_shape();  // a scalar has one, too
  for (const int64_t size : tensor.shape) type.mutable_shape()->add_dim()->set_dim_value(size);
}

void fill(onnx::AttributeProto& proto, const OnnxAttribute& attribute) {
  proto.set_name(attribute.name);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*text);
  } else {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const int64_t i : std::get<std::vector<int64_t>>(attribute.value)) proto.add_ints(i);
  }
}

std::function<void(const ByteSink&)> piece(std::span<const std::byte> bytes) {
  return [bytes](const ByteSink& sink) { sink(bytes); };
}

}  // namespace

OnnxGraph::OnnxGraph(const std::string& name, OnnxWeights& weights) : weights_(weights) {
  graph_.set_name(name);
}

void OnnxGraph::add_input(const OnnxTensor& tensor) { fill(*graph_.add_input(), tensor); }
void OnnxGraph::add_output(const OnnxTensor& tensor) { fill(*graph_.add_output(), tensor); }

std::string OnnxGraph::free_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}.{}", wanted, i);
  return name;
}

OnnxTensor OnnxGraph::constant(const Value& value, const Shape& shape) {
  OnnxTensor tensor{value.constant->name, value.dtype, shape, value.encoding};
  add_initializer(tensor.name, tensor.dtype, shape,
                  [&](const ByteSink& sink) { write_rows(value, sink); });
  if (tensor.encoding && tensor.encoding->per_channel()) {
    parameters_[tensor.name] = channel_parameters(value, *tensor.encoding, shape);
  }
  return tensor;
}

OnnxTensor OnnxGraph::shared(const std::string& what, DType dtype, const Shape& shape,
                             std::span<const std::byte> elements,
                             std::optional<Encoding> encoding) {
  add_initializer(what, dtype, shape, piece(elements));
  return {what, dtype, shape, std::move(encoding)};
}

OnnxTensor OnnxGraph::integers(const std::vector<int64_t>& numbers) {
  return shared(fmt::format("[{}]", fmt::join(numbers, ", ")), DType::i64,
                {static_cast<int64_t>(numbers.size())}, std::as_bytes(std::span(numbers)));
}

void OnnxGraph::apply(std::string_view type, const std::vector<OnnxTensor>& inputs,
                      const OnnxAttributes& attributes, const OnnxTensor& result,
                      const std::string& node) {
  std::vector<std::string> names;
  names.reserve(inputs.size());
  for (const OnnxTensor& input : inputs) {
    names.push_back(input.encoding ? dequantize(input.name, *input.encoding, node) : input.name);
  }
  std::string real = names.front();
  if (!type.empty()) {
    real = result.encoding ? free_name(result.name + "/real") : result.name;
    add_node(type, names, real, node, attributes);
  }
  if (!result.encoding) return;
  std::vector<std::string> of_quantize{real};
  for (const std::string& parameter : parameters(result.name, *result.encoding)) {
    of_quantize.push_back(parameter);
  }
  add_node("QuantizeLinear", of_quantize, result.name, node + "/quantize", {});
}

std::string OnnxGraph::dequantize(const std::string& codes, const Encoding& encoding,
                                  const std::string& node) {
  std::vector<std::string> inputs{codes};
  for (const std::string& parameter : parameters(codes, encoding)) inputs.push_back(parameter);
  OnnxAttributes attributes;
  if (encoding.per_channel()) {
    const int64_t block = encoding.block;
    // Factors of blocks lie along the second dimension.
    attributes.push_back({"axis", block > 0 ? int64_t{1} : int64_t{encoding.axis}});
    if (block > 0) attributes.push_back({"block_size", block});
  }
  std::string real = free_name(fmt::format("{}/{}", node, codes));
  add_node("DequantizeLinear", inputs, real, real, attributes);
  return real;
}

const OnnxGraph::Parameters& OnnxGraph::parameters(const std::string& codes,
                                                   const Encoding& encoding) {
  const auto [place, added] = parameters_.try_emplace(codes);
  if (added) place->second = shared_parameters(encoding);
  return place->second;
}

OnnxGraph::Parameters OnnxGraph::shared_parameters(const Encoding& encoding) {
  const float scale = encoding.scale.front();
  const int32_t zero = encoding.zero_point;  // its low bytes are those of the narrower types
  const auto width = static_cast<size_t>(bits_of(encoding.dtype)) / 8;
  // The QNN provider searches all initializers by name for every input of every node. Names that a
  // std::string holds in itself, of at most 15 letters, save a third of its time.
  return {shared(fmt::format("s{}", scale), DType::f32, {}, bytes_of(scale)).name,
          shared(fmt::format("{}z{}", name_of(encoding.dtype), zero), encoding.dtype, {},
                 bytes_of(zero).first(width))
              .name};
}

OnnxGraph::Parameters OnnxGraph::channel_parameters(const Value& value, const Encoding& encoding,
                                                    const Shape& shape) {
  const std::string scale = value.constant->name + "/scale";
  Shape scales{static_cast<int64_t>(encoding.scale.size())};
  if (encoding.block > 0) {
    scales = shape;
    scales[1] /= encoding.block;
    add_initializer(scale, DType::f32, scales,
                    [&](const ByteSink& sink) { write_block_scales(value, sink); });
  } else {
    add_initializer(scale, DType::f32, scales, piece(std::as_bytes(std::span(encoding.scale))));
  }
  // No zero point means 0, and one initializer less. Of 4 bits the QNN provider does not know that:
  // without, it gives wrong codes.
  if (value.dtype != DType::i4) return {scale};
  const std::string zero = value.constant->name + "/zero_point";
  const std::vector<std::byte> zeros(static_cast<size_t>(byte_size(value.dtype, scales)));
  add_initializer(zero, value.dtype, scales, piece(zeros));
  return {scale, zero};
}

void OnnxGraph::add_initializer(const std::string& name, DType dtype, const Shape& shape,
                                const std::function<void(const ByteSink&)>& write) {
  const onnx::TensorProto& tensor = weights_.tensor(name, dtype, shape, write);
  if (!initializers_.insert(name).second) return;
  if (!names_.insert(name).second) {
    fail({.what = "a constant and another tensor have one name", .where = name});
  }
  *graph_.add_initializer() = tensor;
}

void OnnxGraph::add_node(std::string_view type, const std::vector<std::string>& inputs,
                         const std::string& output, const std::string& name,
                         const OnnxAttributes& attributes) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(std::string(type));
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  for (const OnnxAttribute& attribute : attributes) fill(*node.add_attribute(), attribute);
}

}  // namespace lathe
