#include "artifact/graph_checks.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "artifact/list_reader.h"
#include "graph/check_encoding.h"
#include "graph/stored_bytes.h"
#include "graph/verifier.h"
#include "support/error.h"
#include "support/utf8.h"

namespace lathe {
namespace {

[[noreturn]] void refuse(std::string where, std::string what, std::string expected = {},
                         std::string found = {}) {
  fail({.what = std::move(what),
        .where = std::move(where),
        .expected = std::move(expected),
        .found = std::move(found)});
}

/// Ids and conditions mean what they say; everything else in an integer graph is codes.
bool needs_encoding(DType dtype) {
  return dtype != DType::i64 && dtype != DType::i32 && dtype != DType::boolean;
}

void check_constant(const Value& value) {
  const Constant& constant = *value.constant;
  if (constant.bytes == nullptr) {
    refuse(value.name, "only integer constants can be stored", {},
           constant.floats == nullptr ? "no data" : "floats");
  }
  const int64_t bytes = stored_bytes(value);
  if (constant.byte_count != bytes) {
    refuse(value.name, "the constant has a wrong size", std::to_string(bytes) + " bytes",
           std::to_string(constant.byte_count));
  }
}

class GraphCheck {
 public:
  explicit GraphCheck(const Graph& graph) : graph_(graph) {}

  void run() {
    if (graph_.context() < 1 || graph_.context() > kMaxDimension || graph_.tokens_per_call() < 1 ||
        graph_.tokens_per_call() > graph_.context()) {
      refuse("graph", "tokens per call or context out of range", {},
             std::to_string(graph_.tokens_per_call()) + " of " + std::to_string(graph_.context()));
    }
    if (graph_.window() < 0 || graph_.window() >= graph_.context()) {
      refuse("graph", "window out of range", "0 to " + std::to_string(graph_.context() - 1),
             std::to_string(graph_.window()));
    }
    check_count("nodes", graph_.order().size(), kMaxNodes);
    check_count("inputs", graph_.inputs().size(), kMaxBoundary);
    check_count("outputs", graph_.outputs().size(), kMaxBoundary);
    for (const ValueId id : graph_.inputs()) check_value(id);
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      for (const ValueId input : node.inputs) {
        if (graph_.value(input).is_constant()) check_value(input);
      }
      check_name(node.module);
      check_count("inputs of a node", node.inputs.size(), kMaxNodeInputs);
      check_attributes(node.attributes, graph_.value(node.output()).name);
      for (const ValueId output : node.outputs) check_value(output);
    }
    std::unordered_set<std::string_view> names;
    for (const GraphOutput& output : graph_.outputs()) {
      check_name(output.name);
      if (!names.insert(output.name).second) refuse(output.name, "an output is named twice");
    }
    verify(graph_, true);
  }

 private:
  static void check_count(const char* what, size_t count, size_t limit) {
    if (count <= limit) return;
    refuse("graph", std::string("too many ") + what, std::to_string(limit), std::to_string(count));
  }

  static void check_name(const std::string& name) {
    if (name.size() > kMaxNameBytes || !is_utf8(name)) {
      refuse("graph", "a name is too long or not UTF-8", {}, printable(name));
    }
  }

  void check_value(ValueId id) {
    if (!checked_.insert(id).second) return;
    const Value& value = graph_.value(id);
    check_name(value.name);
    if (value.name.empty() || !names_.insert(value.name).second) {
      refuse(value.name, "a value has no name of its own");
    }
    check_shape(value.shape, value.name);
    if (value.encoding) {
      check_encoding(value);
      if (value.encoding->per_channel() && !value.is_constant()) {
        refuse(value.name, "only constants are encoded per channel");
      }
    } else if (needs_encoding(value.dtype)) {
      refuse(value.name, "codes without an encoding, or floats", {},
             std::string(name_of(value.dtype)));
    }
    if (!value.constant) return;
    check_name(value.constant->name);
    check_constant(value);
  }

  const Graph& graph_;
  std::unordered_set<ValueId> checked_;
  std::unordered_set<std::string_view> names_;
};

}  // namespace

void check_shape(const Shape& shape, const std::string& where) {
  const bool small = shape.size() <= kMaxRank && checked_elements(shape) >= 0 &&
                     checked_elements(shape) <= kMaxElements &&
                     std::all_of(shape.begin(), shape.end(),
                                 [](int64_t dimension) { return dimension <= kMaxDimension; });
  if (!small) refuse(where, "an impossible shape", {}, to_string(shape));
}

void check_attributes(const Attributes& attributes, const std::string& where) {
  std::unordered_set<std::string_view> names;
  if (attributes.entries().size() > kMaxAttributes) refuse(where, "too many attributes");
  for (const auto& [name, item] : attributes.entries()) {
    if (!names.insert(name).second) refuse(where, "an attribute is given twice", {}, name);
    const auto* text = std::get_if<std::string>(&item);
    if (!is_utf8(name) || (text != nullptr && !is_utf8(*text))) {
      refuse(where, "an attribute is not UTF-8");
    }
    if (const auto* real = std::get_if<double>(&item); real != nullptr && !std::isfinite(*real)) {
      refuse(where, "an attribute is not a finite number", {}, name);
    }
    if (const auto* list = std::get_if<std::vector<int64_t>>(&item)) {
      Shape sizes = *list;
      std::replace(sizes.begin(), sizes.end(), int64_t{-1}, int64_t{1});  // -1: follows from others
      check_shape(sizes, where + ": " + name);
    }
  }
}

void check_graph(const Graph& graph) {
  try {
    GraphCheck(graph).run();
  } catch (const Error& error) {
    fail({.what = error.what(), .where = std::string(name_of(graph.role())) + " graph"});
  }
}

}  // namespace lathe
