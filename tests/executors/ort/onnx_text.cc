#include "executors/ort/onnx_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "executors/cpu/code_graph.h"
#include "support/test_files.h"

namespace lathe::testing {
namespace {

class Printer {
 public:
  explicit Printer(const onnx::GraphProto& graph) : graph_(graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) tensors_[tensor.name()] = &tensor;
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() == "DequantizeLinear") dequantized_[node.output(0)] = &node;
      if (node.op_type() == "QuantizeLinear") quantizers_[node.input(0)] = &node;
    }
  }

  std::string run() const {
    std::string text;
    for (const onnx::NodeProto& node : graph_.node()) {
      if (node.op_type() == "DequantizeLinear") continue;
      if (node.op_type() == "QuantizeLinear") {
        if (dequantized_.contains(node.input(0))) {
          text += fmt::format("{} = {}\n", codes(node, node.output(0)), operand(node.input(0)));
        }
        continue;
      }
      std::vector<std::string> operands;
      for (const std::string& input : node.input()) operands.push_back(operand(input));
      text += fmt::format("{} = {}({}){} @ {}\n", result(node.output(0)), node.op_type(),
                          fmt::join(operands, ", "), attributes(node), node.name());
    }
    return text;
  }

 private:
  std::string operand(const std::string& name) const {
    const auto found = dequantized_.find(name);
    return found == dequantized_.end() ? name : codes(*found->second, found->second->input(0));
  }

  std::string result(const std::string& name) const {
    const auto found = quantizers_.find(name);
    return found == quantizers_.end() ? name : codes(*found->second, found->second->output(0));
  }

  /// `name` as the node says that its codes are to be read.
  std::string codes(const onnx::NodeProto& node, const std::string& name) const {
    const onnx::TensorProto& scale = *tensors_.at(node.input(1));
    if (scale.dims_size() > 0) {
      return fmt::format("{}<scales {}{}>", name, fmt::join(scale.dims(), " "), attributes(node));
    }
    float number = 0;
    std::memcpy(&number, scale.raw_data().data(), sizeof(number));
    const std::string& zero = tensors_.at(node.input(2))->raw_data();
    uint16_t zero_point = 0;
    std::memcpy(&zero_point, zero.data(), zero.size());
    return fmt::format("{}<{} {}>", name, number, zero_point);
  }

  static std::string attributes(const onnx::NodeProto& node) {
    std::vector<std::string> all;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      std::string value = fmt::format("[{}]", fmt::join(attribute.ints(), ", "));
      if (attribute.has_i()) value = std::to_string(attribute.i());
      if (attribute.has_f()) value = fmt::format("{}", attribute.f());
      all.push_back(attribute.name() + "=" + value);
    }
    return all.empty() ? "" : fmt::format(" {{{}}}", fmt::join(all, ", "));
  }

  const onnx::GraphProto& graph_;
  std::map<std::string, const onnx::TensorProto*> tensors_;
  std::map<std::string, const onnx::NodeProto*> dequantized_;  // by what they give
  std::map<std::string, const onnx::NodeProto*> quantizers_;   // by what they take
};

}  // namespace

onnx::ModelProto read_onnx(const std::filesystem::path& file) {
  onnx::ModelProto model;
  if (!model.ParseFromString(read_bytes(file))) ADD_FAILURE() << file << " is no ONNX file";
  return model;
}

std::string onnx_text(const onnx::ModelProto& model) { return Printer(model.graph()).run(); }

std::string onnx_text(const char* graph_text) {
  const CodeGraph graph(graph_text);
  const TestFolder folder;
  write_onnx({{{"graph", &graph.graph()}}}, folder.path());
  return onnx_text(read_onnx(folder / "graph.onnx"));
}

}  // namespace lathe::testing
