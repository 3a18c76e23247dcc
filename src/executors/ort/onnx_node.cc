#include "executors/ort/onnx_node.h"

#include <fmt/format.h>

#include <utility>

#include "support/error.h"

namespace lathe {

OnnxNode::OnnxNode(const Graph& graph, const Node& node, std::vector<OnnxTensor>& tensors,
                   OnnxGraph& onnx)
    : graph_(graph), node_(node), tensors_(tensors), onnx_(onnx) {
  const std::string& value = graph.value(node.output()).name;
  name_ = node.module.empty() ? value : fmt::format("{}/{}", node.module, value);
}

const OnnxTensor& OnnxNode::input(size_t index) const {
  return tensors_[static_cast<size_t>(node_.inputs[index])];
}

std::vector<OnnxTensor> OnnxNode::inputs() const {
  std::vector<OnnxTensor> all;
  all.reserve(node_.inputs.size());
  for (size_t i = 0; i < node_.inputs.size(); ++i) all.push_back(input(i));
  return all;
}

OnnxTensor OnnxNode::constant(size_t index, const Shape& shape) {
  const Value& value = graph_.value(node_.inputs[index]);
  if (!value.is_constant()) {
    fail({.what = fmt::format("a product with {}, which is no constant, cannot be exported",
                              value.name),
          .where = name_});
  }
  return onnx_.constant(value, shape);
}

const OnnxTensor& OnnxNode::result() const { return tensors_[static_cast<size_t>(node_.output())]; }

void OnnxNode::set_result(OnnxTensor tensor) {
  tensors_[static_cast<size_t>(node_.output())] = std::move(tensor);
}

int64_t OnnxNode::dimension(std::string_view attribute, const Shape& shape) const {
  const int64_t dim = attributes().integer(attribute);
  return dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim;
}

OnnxTensor OnnxNode::step(std::string_view what, const OnnxTensor& like, Shape shape) {
  return {onnx_.free_name(fmt::format("{}/{}", result().name, what)), like.dtype, std::move(shape),
          like.encoding};
}

void OnnxNode::apply(std::string_view type, const std::vector<OnnxTensor>& inputs,
                     const OnnxAttributes& attributes, const OnnxTensor& to) {
  // The node itself has the name that it has in the graph, its steps those of their tensors.
  onnx_.apply(type, inputs, attributes, to, to.name == result().name ? name_ : to.name);
}

void OnnxNode::apply(std::string_view type, const std::vector<OnnxTensor>& inputs,
                     const OnnxAttributes& attributes) {
  apply(type, inputs, attributes, result());
}

void OnnxNode::reshape(const OnnxTensor& from, const OnnxTensor& to) {
  apply("Reshape", {from, onnx_.integers(to.shape)}, {}, to);
}

}  // namespace lathe
