#include "artifact/graph_writer.h"

#include <bit>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "artifact/format.h"
#include "artifact/graph_checks.h"
#include "graph/operators.h"
#include "support/error.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

/// A list whose items are referred to by index and stored once.
class Table {
 public:
  /// Index of the item with that key; adds `item` where it is new.
  int index(const std::string& key, const Json& item) {
    const auto [place, added] = indices_.emplace(key, static_cast<int>(items_.size()));
    if (added) items_.push_back(item);
    return place->second;
  }
  int index(const std::string& text) { return index(text, text); }
  Json take() { return std::move(items_); }

 private:
  std::map<std::string, int> indices_;
  Json items_ = Json::array();
};

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() &&
         (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

class GraphsWriter {
 public:
  StoredGraphs run(const std::vector<Graph>& graphs) {
    Json list = Json::array();
    for (const Graph& graph : graphs) list.push_back(store(graph));
    Json all = {{"operators", operators_.take()},
                {"modules", modules_.take()},
                {"encodings", encodings_.take()},
                {"constants", constants_.take()},
                {"graphs", std::move(list)}};
    stored_.json = all.dump();
    return std::move(stored_);
  }

 private:
  Json store(const Graph& graph) {
    Json inputs = Json::array();
    Json constants = Json::array();
    Json nodes = Json::array();
    Json outputs = Json::array();
    // Ids in the file count inputs, then constants, then the outputs of the nodes.
    std::vector<ValueId> ids(static_cast<size_t>(graph.value_count()), kNone);
    ValueId next = 0;
    const auto number = [&](ValueId id) { ids[static_cast<size_t>(id)] = next++; };

    for (const ValueId id : graph.inputs()) {
      const Value& value = graph.value(id);
      inputs.push_back({value.name, name_of(value.dtype), value.shape, encoding(value)});
      number(id);
    }
    for (const NodeId node : graph.order()) {
      for (const ValueId id : graph.node(node).inputs) {
        const Value& value = graph.value(id);
        if (!value.is_constant() || ids[static_cast<size_t>(id)] != kNone) continue;
        constants.push_back(
            {value.name, constant(value), name_of(value.dtype), value.shape, encoding(value)});
        number(id);
      }
    }
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.outputs.size() != 1) throw std::logic_error("an operator with several outputs");
      nodes.push_back(store(graph, node, ids));
      number(node.output());
    }
    for (const GraphOutput& output : graph.outputs()) {
      outputs.push_back({output.name, ids[static_cast<size_t>(output.value)]});
    }
    return {{"role", name_of(graph.role())}, {"tokens_per_call", graph.tokens_per_call()},
            {"context", graph.context()},    {"window", graph.window()},
            {"inputs", std::move(inputs)},   {"constants", std::move(constants)},
            {"nodes", std::move(nodes)},     {"outputs", std::move(outputs)}};
  }

  Json store(const Graph& graph, const Node& node, const std::vector<ValueId>& ids) {
    const Value& output = graph.value(node.output());
    Json inputs = Json::array();
    for (const ValueId id : node.inputs) inputs.push_back(ids[static_cast<size_t>(id)]);
    Json record = Json::array();
    record.push_back(operators_.index(std::string(rule_of(node.op).name)));
    record.push_back(modules_.index(node.module));
    record.push_back(output.name);
    record.push_back(encoding(output));
    record.push_back(std::move(inputs));
    for (const auto& [name, item] : node.attributes.entries()) {
      record.push_back(name);
      std::visit([&](const auto& content) { record.push_back(content); }, item);
    }
    return record;
  }

  /// Index of the value's encoding, or -1.
  int encoding(const Value& value) {
    if (!value.encoding) return -1;
    const Encoding& encoding = *value.encoding;
    std::string key = std::string(name_of(encoding.dtype)) + ' ' +
                      std::to_string(encoding.zero_point) + ' ' + std::to_string(encoding.axis) +
                      ' ' + std::to_string(encoding.block);
    Json item;
    if (encoding.per_channel()) {
      const std::string name = value.constant->name + ".scale";
      store_tensor(stored_.scales, scale_indices_,
                   {name,
                    DType::f32,
                    {static_cast<int64_t>(encoding.scale.size())},
                    std::as_bytes(std::span(encoding.scale))});
      key += ' ' + name;
      item = {name_of(encoding.dtype), name, encoding.zero_point, encoding.axis};
      if (encoding.block > 0) item.push_back(encoding.block);
    } else {
      key += ' ' + std::to_string(std::bit_cast<uint32_t>(encoding.scale.at(0)));
      item = {name_of(encoding.dtype), encoding.scale.at(0), encoding.zero_point};
    }
    return encodings_.index(key, item);
  }

  int constant(const Value& value) {
    const Constant& constant = *value.constant;
    const bool packed = constant.layout == Layout::packed;
    const auto size = static_cast<size_t>(constant.byte_count);
    // Packed bytes are not the matrix in any order that a shape could tell.
    const Shape shape = packed ? Shape{constant.byte_count} : value.shape;
    store_tensor(stored_.weights, weight_indices_,
                 {constant.name, stored_type(value.dtype), shape, {constant.bytes.get(), size}});
    const std::string layout = packed ? "packed" : "rows";
    return constants_.index(constant.name + ' ' + layout, {constant.name, layout});
  }

  static void store_tensor(std::vector<StoredTensor>& tensors,
                           std::map<std::string, size_t>& indices, StoredTensor tensor) {
    const auto [place, added] = indices.emplace(tensor.name, tensors.size());
    if (added) {
      tensors.push_back(std::move(tensor));
      return;
    }
    const StoredTensor& first = tensors[place->second];
    if (first.dtype != tensor.dtype || !same_bytes(first.bytes, tensor.bytes)) {
      fail({.what = "two constants of one name differ", .where = tensor.name});
    }
  }

  Table operators_;
  Table modules_;
  Table encodings_;
  Table constants_;
  std::map<std::string, size_t> scale_indices_;
  std::map<std::string, size_t> weight_indices_;
  StoredGraphs stored_;
};

}  // namespace

StoredGraphs store_graphs(const std::vector<Graph>& graphs) {
  if (graphs.empty() || graphs.size() > kMaxGraphs) {
    fail({.what = "wrong number of graphs",
          .expected = "1 to " + std::to_string(kMaxGraphs),
          .found = std::to_string(graphs.size())});
  }
  for (const Graph& graph : graphs) check_graph(graph);
  return GraphsWriter().run(graphs);
}

}  // namespace lathe
