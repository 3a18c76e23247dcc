#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executors/reference/evaluator.h"
#include "graph/text.h"

namespace lathe {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A graph written as text, with its data: for tests that show an operator's numbers.
class TestGraph {
 public:
  explicit TestGraph(std::string_view text) : graph_(parse_graph(text)) {}

  TestGraph& constant(std::string_view name, std::vector<float> values) {
    graph_.set_constant(graph_.find(name), float_constant(std::string(name), std::move(values)));
    return *this;
  }
  template <typename T>
  TestGraph& codes(std::string_view name, const std::vector<T>& values,
                   Layout layout = Layout::rows) {
    graph_.set_constant(graph_.find(name),
                        bytes_constant(std::string(name), bytes_of(values), layout));
    return *this;
  }
  TestGraph& scales(std::string_view name, std::vector<float> scales) {
    const ValueId id = graph_.find(name);
    Encoding encoding = *graph_.value(id).encoding;
    encoding.scale = std::move(scales);
    graph_.set_value_type(id, encoding.dtype, encoding);
    return *this;
  }
  template <typename T>
  TestGraph& input(const std::string& name, const std::vector<T>& values) {
    inputs_[name] = bytes_of(values);
    return *this;
  }

  std::shared_ptr<const Graph> share() const { return std::make_shared<const Graph>(graph_); }
  const Graph& graph() const { return graph_; }

  /// Binds the inputs given here; they live as long as this object.
  void bind_inputs(Evaluator& evaluator) {
    for (auto& [name, bytes] : inputs_) {
      const Value& value = graph_.value(graph_.find(name));
      evaluator.bind_input(name, dense_view(value.dtype, value.shape, bytes.data()));
    }
  }

  /// Evaluates the graph and gives the elements of its first output.
  template <typename T>
  std::vector<T> run(std::shared_ptr<NodeKernels> kernels = nullptr) {
    Evaluator evaluator(share(), std::move(kernels));
    bind_inputs(evaluator);
    const GraphOutput& output = graph_.outputs().front();
    const Value& value = graph_.value(output.value);
    std::vector<std::byte> bytes(static_cast<size_t>(byte_size(value.dtype, value.shape)));
    evaluator.bind_output(output.name, dense_view(value.dtype, value.shape, bytes.data()));
    evaluator.run();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  Graph graph_;
  std::map<std::string, std::vector<std::byte>> inputs_;
};

/// A graph of one node: inputs and constants as the lines of `head` have them, then
/// `%y = <node>`.
inline TestGraph one_node(const std::string& head, const std::string& node) {
  return TestGraph("graph decode ar=1 cl=8\n" + head + "%y = " + node + "\noutput y = %y\n");
}

}  // namespace lathe
