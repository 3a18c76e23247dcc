#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "executors/ort/onnx.pb.h"
#include "executors/ort/onnx_weights.h"
#include "graph/graph.h"

namespace lathe {

/// A tensor of an ONNX graph that holds codes, or plain numbers where it has no encoding.
struct OnnxTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Encoding> encoding;
};

/// An attribute of an ONNX node: {"axis", -1}.
struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::vector<int64_t>, std::string> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

/// Builds one ONNX graph in QDQ form: nodes between tensors of codes, each an operator in float
/// arithmetic between DequantizeLinear and QuantizeLinear.
class OnnxGraph {
 public:
  /// Puts constants into `weights`, which it shares with other graphs of the model.
  OnnxGraph(const std::string& name, OnnxWeights& weights);

  void add_input(const OnnxTensor& tensor);
  void add_output(const OnnxTensor& tensor);
  /// A name that no tensor has yet: `wanted` where it is free. It is taken from now on.
  std::string free_name(const std::string& wanted);

  /// The constant of a value, as a tensor of `shape` with as many elements. It is named after the
  /// constant, so that all graphs of a model call it the same.
  OnnxTensor constant(const Value& value, const Shape& shape);
  /// A tensor of these elements that all nodes share. Its name is `what` and belongs to them alone.
  OnnxTensor shared(const std::string& what, DType dtype, const Shape& shape,
                    std::span<const std::byte> elements, std::optional<Encoding> encoding = {});
  OnnxTensor integers(const std::vector<int64_t>& numbers);  ///< i64 [n]

  /// result = type(inputs). What has an encoding is dequantized for this node alone (QNN makes one
  /// quantized operator of such a group) and the result is quantized. Without a `type` the numbers
  /// stay and only the encoding changes. `node` names the operator for who reads the file or an
  /// error.
  void apply(std::string_view type, const std::vector<OnnxTensor>& inputs,
             const OnnxAttributes& attributes, const OnnxTensor& result, const std::string& node);

  onnx::GraphProto take() { return std::move(graph_); }

 private:
  /// The inputs of QuantizeLinear and DequantizeLinear behind the first, by name.
  using Parameters = std::vector<std::string>;

  std::string dequantize(const std::string& codes, const Encoding& encoding,
                         const std::string& node);
  const Parameters& parameters(const std::string& codes, const Encoding& encoding);
  Parameters shared_parameters(const Encoding& encoding);
  Parameters channel_parameters(const Value& value, const Encoding& encoding, const Shape& shape);
  void add_initializer(const std::string& name, DType dtype, const Shape& shape,
                       const std::function<void(const ByteSink&)>& write);
  void add_node(std::string_view type, const std::vector<std::string>& inputs,
                const std::string& output, const std::string& name,
                const OnnxAttributes& attributes);

  OnnxWeights& weights_;
  onnx::GraphProto graph_;
  std::set<std::string> names_;
  std::set<std::string> initializers_;
  std::map<std::string, Parameters> parameters_;  // of tensors, by name
};

}  // namespace lathe
