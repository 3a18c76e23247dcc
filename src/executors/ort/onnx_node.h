#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executors/ort/onnx_graph.h"
#include "graph/graph.h"

namespace lathe {

/// A node of an integer graph on its way into an ONNX graph: what a rule of onnx_operators.h works
/// with.
class OnnxNode {
 public:
  /// `tensors` holds what is there of the graph's values, by value id. That of the node's output
  /// has its name, type and encoding.
  OnnxNode(const Graph& graph, const Node& node, std::vector<OnnxTensor>& tensors, OnnxGraph& onnx);

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  /// "model.layers.0.self_attn/conv2d_3"
  const std::string& name() const { return name_; }
  OnnxGraph& onnx() { return onnx_; }

  const OnnxTensor& input(size_t index) const;
  std::vector<OnnxTensor> inputs() const;
  /// A constant input in a shape of its own.
  OnnxTensor constant(size_t index, const Shape& shape);
  const OnnxTensor& result() const;
  /// The result is this tensor, and no node is needed.
  void set_result(OnnxTensor tensor);
  /// A dimension among the attributes, counted from the front of `shape`.
  int64_t dimension(std::string_view attribute, const Shape& shape) const;

  /// A tensor on the way to the result, with the type and the encoding of `like`.
  OnnxTensor step(std::string_view what, const OnnxTensor& like, Shape shape);
  /// OnnxGraph::apply for this node.
  void apply(std::string_view type, const std::vector<OnnxTensor>& inputs,
             const OnnxAttributes& attributes, const OnnxTensor& to);
  /// The same with the result.
  void apply(std::string_view type, const std::vector<OnnxTensor>& inputs,
             const OnnxAttributes& attributes = {});
  void reshape(const OnnxTensor& from, const OnnxTensor& to);

 private:
  const Graph& graph_;
  const Node& node_;
  std::vector<OnnxTensor>& tensors_;
  OnnxGraph& onnx_;
  std::string name_;
};

}  // namespace lathe
