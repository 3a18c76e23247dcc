#include "graph/verifier.h"

#include <fmt/format.h>

#include "graph/fixed_encodings.h"
#include "graph/operators.h"
#include "support/error.h"

namespace lathe {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, bool integer) : graph_(graph), integer_(integer) {}

  void run() {
    std::vector<bool> defined(static_cast<size_t>(graph_.value_count()), false);
    for (const ValueId id : graph_.inputs()) defined[static_cast<size_t>(id)] = true;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      for (const ValueId input : node.inputs) {
        if (!graph_.value(input).is_constant() && !defined[static_cast<size_t>(input)]) {
          refuse(node, fmt::format("%{} is used before it is defined", graph_.value(input).name));
        }
      }
      check_types(node);
      check_encodings(node);
      for (const ValueId output : node.outputs) defined[static_cast<size_t>(output)] = true;
    }
    for (const GraphOutput& output : graph_.outputs()) {
      if (!defined[static_cast<size_t>(output.value)]) {
        fail({.what = fmt::format("output {} is never computed", output.name),
              .where = "graph verifier"});
      }
    }
    check_caches();
    check_mask();
  }

 private:
  [[noreturn]] void refuse(const Node& node, std::string what, std::string expected = {},
                           std::string found = {}) const {
    fail({.what = fmt::format("%{} = {}: {}", graph_.value(node.output()).name,
                              rule_of(node.op).name, what),
          .where = "graph verifier",
          .expected = std::move(expected),
          .found = std::move(found)});
  }

  void check_types(const Node& node) const {
    std::vector<TensorType> inputs;
    for (const ValueId id : node.inputs) {
      inputs.push_back({graph_.value(id).dtype, graph_.value(id).shape});
    }
    const std::vector<TensorType> results = rule_of(node.op).infer(node, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& value = graph_.value(node.outputs[i]);
      if (value.shape != results.at(i).shape) {
        refuse(node, "wrong shape", to_string(results[i].shape), to_string(value.shape));
      }
      // In an integer graph the type of codes is the encoding's, not the rule's.
      if (!value.encoding && value.dtype != results[i].dtype) {
        refuse(node, "wrong type", std::string(name_of(results[i].dtype)),
               std::string(name_of(value.dtype)));
      }
      if (value.encoding && value.encoding->dtype != value.dtype) {
        refuse(node, "the encoding is of another type", std::string(name_of(value.dtype)),
               to_string(*value.encoding));
      }
    }
  }

  void check_encodings(const Node& node) const {
    const OperatorRule& rule = rule_of(node.op);
    const Value& output = graph_.value(node.output());
    if (integer_) {
      if (output.dtype == DType::f32) refuse(node, "a float is left in an integer graph");
      for (const ValueId id : node.inputs) {
        if (graph_.value(id).dtype == DType::f32) {
          refuse(node,
                 fmt::format("input %{} is float in an integer graph", graph_.value(id).name));
        }
      }
    }
    if (rule.encoding == EncodingRule::unit && output.encoding &&
        *output.encoding != unit_encoding()) {
      refuse(node, "the encoding is fixed", to_string(unit_encoding()), show(output));
    }
    if (rule.encoding != EncodingRule::moves_codes) return;
    check_specs(node, rule);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& input = graph_.value(node.inputs[i]);
      // An integer that becomes a real number is no code.
      if (node.op == Op::to && !input.encoding && input.dtype != DType::f32) continue;
      if (rule.moves(static_cast<int>(i)) && input.encoding != output.encoding) {
        refuse(node, fmt::format("input %{} has another encoding than the output", input.name),
               show(output), show(input));
      }
    }
  }

  /// In an annotated graph the mover's input is read as what the output will be.
  void check_specs(const Node& node, const OperatorRule& rule) const {
    const Value& output = graph_.value(node.output());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& input = graph_.value(node.inputs[i]);
      if (!rule.moves(static_cast<int>(i)) || !input.spec || !output.spec) continue;
      const QuantSpec& read = input.read_as ? *input.read_as : *input.spec;
      if (read != *output.spec) {
        refuse(node, fmt::format("input %{} has another spec than the output", input.name),
               to_string(*output.spec), to_string(read));
      }
    }
  }

  void check_caches() const {
    for (const ValueId id : graph_.inputs()) {
      const Value& cache = graph_.value(id);
      const bool key = cache.name.starts_with("k_cache_");
      if (!key && !cache.name.starts_with("v_cache_")) continue;
      const std::string fresh = (key ? "k_new_" : "v_new_") + cache.name.substr(8);
      for (const GraphOutput& output : graph_.outputs()) {
        if (output.name != fresh) continue;
        const Value& value = graph_.value(output.value);
        if (value.encoding != cache.encoding || value.dtype != cache.dtype) {
          fail({.what = fmt::format("{} and {} differ in their encoding", cache.name, fresh),
                .where = "graph verifier",
                .expected = show(cache),
                .found = show(value)});
        }
      }
    }
  }

  void check_mask() const {
    for (const ValueId id : graph_.inputs()) {
      const Value& mask = graph_.value(id);
      if (is_attention_mask(mask.name) && mask.encoding &&
          *mask.encoding != attention_mask_encoding()) {
        fail({.what = mask.name + " has another encoding than the fixed one",
              .where = "graph verifier",
              .expected = to_string(attention_mask_encoding()),
              .found = show(mask)});
      }
    }
  }

  static std::string show(const Value& value) {
    return value.encoding ? to_string(*value.encoding) : std::string(name_of(value.dtype));
  }

  const Graph& graph_;
  bool integer_;
};

}  // namespace

void verify(const Graph& graph, bool integer) { Verifier(graph, integer).run(); }

}  // namespace lathe
