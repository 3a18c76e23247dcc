#include "executors/ort/onnx_writer.h"

#include <memory>
#include <vector>

#include "executors/ort/onnx_graph.h"
#include "executors/ort/onnx_node.h"
#include "executors/ort/onnx_operators.h"
#include "executors/ort/onnx_weights.h"
#include "graph/groups.h"
#include "support/error.h"
#include "support/output_file.h"

namespace lathe {
namespace {

constexpr int64_t kIrVersion = 11;
constexpr int64_t kOpset = 23;  // the first with RMSNormalization

/// The values of a graph, on their way to ONNX.
class GraphWriter {
 public:
  GraphWriter(const NamedGraph& named, OnnxWeights& weights)
      : graph_(*named.graph),
        onnx_(named.name, weights),
        tensors_(static_cast<size_t>(graph_.value_count())) {}

  onnx::GraphProto run() {
    add_boundary();
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        // What a product stores takes the shape that its rule wants.
        if (is_weight(node, i)) {
          tensor(node.inputs[i]) = described(node.inputs[i], {});
        } else {
          add_constant(node.inputs[i]);
        }
      }
      name(node.output());
      OnnxNode onnx_node(graph_, node, tensors_, onnx_);
      write_operator(onnx_node);
    }
    finish_outputs();
    return onnx_.take();
  }

 private:
  OnnxTensor& tensor(ValueId id) { return tensors_[static_cast<size_t>(id)]; }

  OnnxTensor described(ValueId id, std::string name) const {
    const Value& value = graph_.value(id);
    return {std::move(name), value.dtype, value.shape, value.encoding};
  }

  /// Names at the boundary are taken before all others. A value has the name of its first output.
  void add_boundary() {
    for (const ValueId id : graph_.inputs()) {
      tensor(id) = described(id, onnx_.free_name(graph_.value(id).name));
      onnx_.add_input(tensor(id));
    }
    for (const GraphOutput& output : graph_.outputs()) {
      const OnnxTensor named = described(output.value, onnx_.free_name(output.name));
      onnx_.add_output(named);
      outputs_.push_back(named);
      const bool made = graph_.producer(output.value) != nullptr;
      if (made && tensor(output.value).name.empty()) tensor(output.value) = named;
    }
  }

  void add_constant(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.is_constant() && tensor(id).name.empty()) {
      tensor(id) = onnx_.constant(value, value.shape);
    }
  }

  void name(ValueId id) {
    if (tensor(id).name.empty()) tensor(id) = described(id, onnx_.free_name(graph_.value(id).name));
  }

  /// Outputs that are an input, a constant or another output.
  void finish_outputs() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const ValueId value = graph_.outputs()[i].value;
      add_constant(value);
      if (tensor(value).name == outputs_[i].name) continue;
      onnx_.apply("Identity", {tensor(value)}, {}, outputs_[i], outputs_[i].name);
    }
  }

  const Graph& graph_;
  OnnxGraph onnx_;
  std::vector<OnnxTensor> tensors_;  // by value id; without a name: not there yet
  std::vector<OnnxTensor> outputs_;
};

onnx::ModelProto model_of(onnx::GraphProto graph) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("lathe");
  model.set_producer_version(LATHE_VERSION);
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpset);
  *model.mutable_graph() = std::move(graph);
  return model;
}

}  // namespace

void write_onnx(std::span<const NamedGraph> graphs, const std::filesystem::path& folder,
                const std::string& weights_file) {
  OnnxWeights weights(folder / weights_file);
  std::vector<std::unique_ptr<OutputFile>> files;
  for (const NamedGraph& named : graphs) {
    const onnx::ModelProto model = model_of(GraphWriter(named, weights).run());
    std::string bytes;
    if (!model.SerializeToString(&bytes)) {
      fail({.what = "a graph is too large for an ONNX file", .where = named.name});
    }
    files.push_back(std::make_unique<OutputFile>(folder / (named.name + ".onnx")));
    files.back()->write(bytes);
  }
  weights.commit();
  for (const std::unique_ptr<OutputFile>& file : files) file->commit();
}

}  // namespace lathe
