#include "quant/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/fixed_encodings.h"
#include "graph/operators.h"
#include "graph/verifier.h"
#include "quant/encodings.h"
#include "support/error.h"

namespace lathe {
namespace {

// --- roles

[[noreturn]] void refuse_roles(const Graph& a, const Graph& b, std::string what) {
  fail({.what = std::move(what),
        .where = fmt::format("graphs {} and {}", name_of(a.role()), name_of(b.role()))});
}

void require_same_node(const Graph& a, const Graph& b, NodeId id) {
  const Node& x = a.node(id);
  const Node& y = b.node(id);
  if (x.op != y.op || x.module != y.module || x.inputs != y.inputs || x.outputs != y.outputs) {
    refuse_roles(a, b,
                 fmt::format("node {} differs: {} of {} and {} of {}", id, rule_of(x.op).name,
                             x.module, rule_of(y.op).name, y.module));
  }
  for (const ValueId input : x.inputs) {
    const Value& v = a.value(input);
    const Value& w = b.value(input);
    const bool same = v.name == w.name && v.is_constant() == w.is_constant() &&
                      (!v.is_constant() || v.constant->name == w.constant->name);
    if (!same) {
      refuse_roles(a, b, fmt::format("value {} differs: %{} and %{}", input, v.name, w.name));
    }
  }
}

// --- encodings

ValueRange source_range(const Graph& graph, ValueId id, const RangeTable& ranges,
                        ThreadPool& pool) {
  const Value& value = graph.value(id);
  if (value.is_constant()) return constant_range(*value.constant, value.shape, pool);
  const Node* producer = graph.producer(id);
  if (producer != nullptr && producer->op == Op::requantize) {
    return source_range(graph, producer->inputs[0], ranges, pool);
  }
  const ValueRange range =
      static_cast<size_t>(id) < ranges.size() ? ranges[static_cast<size_t>(id)] : ValueRange{};
  if (range.empty() && producer != nullptr) {
    fail({.what = "calibration did not see this value",
          .where = fmt::format("%{} of {}", value.name, producer->module)});
  }
  return range;
}

/// Smallest range that holds the whole table and [-1, 1], the same on both sides.
ValueRange rotary_range(const ValueRange& table) {
  const float bound = std::max(1.0f, table.max_abs());
  return {-bound, bound};
}

Encoding group_encoding(const Graph& graph, const Annotation& annotation, int32_t group,
                        const RangeTable& ranges, const Recipe& recipe, ThreadPool& pool) {
  const GroupKind kind = annotation.kinds[static_cast<size_t>(group)];
  if (kind == GroupKind::mask) return attention_mask_encoding();
  if (kind == GroupKind::unit) return unit_encoding();

  const std::vector<ValueId>& sources = annotation.groups.sources(group);
  ValueRange range;
  for (const ValueId source : sources) range.include(source_range(graph, source, ranges, pool));
  const std::string& name = graph.value(sources.front()).name;
  if (kind == GroupKind::rotary) range = rotary_range(range);
  if (kind != GroupKind::keys_or_values) return affine_encoding(recipe.activation, range, name);
  return recipe.kv_bits == 8 ? symmetric_encoding(range, name)
                             : affine_encoding(DType::u16, range, name);
}

// --- conversion

class Converter {
 public:
  Converter(const Graph& graph, const EncodingTable& encodings, WeightCache& cache,
            ThreadPool& pool)
      : source_(graph), graph_(graph), encodings_(encodings), cache_(cache), pool_(pool) {}

  Graph run() {
    for (const ValueId id : source_.inputs()) convert_value(id);
    for (const NodeId id : source_.order()) {
      const Node& node = source_.node(id);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!is_weight(node, i)) convert_value(node.inputs[i]);
      }
      for (const ValueId output : node.outputs) convert_value(output);
      if (node.op == Op::linear) convert_weights(node);
    }
    verify(graph_, true);
    return std::move(graph_);
  }

 private:
  /// A value that holds activations; done already where it is read a second time.
  void convert_value(ValueId id) {
    const std::optional<Encoding>& encoding = encodings_.at(static_cast<size_t>(id));
    if (!encoding || graph_.value(id).encoding) return;
    const Value& value = source_.value(id);
    if (value.is_constant()) {
      set_constant(id, cache_.get(*value.constant, encoding->dtype,
                                  {encoding->scale.at(0), double(encoding->zero_point)},
                                  [&](std::string name) {
                                    return quantize_activation(*value.constant, value.shape,
                                                               *encoding, std::move(name), pool_);
                                  }));
    } else {
      graph_.set_value_type(id, encoding->dtype, encoding);
    }
  }

  void convert_weights(const Node& node) {
    const Value& weight = source_.value(node.inputs[1]);
    const Encoding& input = encodings_.at(static_cast<size_t>(node.inputs[0])).value();
    std::vector<float> bias;
    WeightCache::Key floors;
    if (node.inputs.size() > 2) {
      bias = read_constant(node, 2);
      for (const float b : bias) floors.push_back(bias_scale_floor(b, input.scale.at(0)));
    }
    if (!weight.is_constant()) refuse_weight(node, weight);
    const QuantizedConstant quantized =
        cache_.get(*weight.constant, DType::i8, floors, [&](std::string name) {
          return quantize_weight(*weight.constant, weight.shape, floors, std::move(name), pool_);
        });
    set_constant(node.inputs[1], quantized);
    if (bias.empty()) return;

    WeightCache::Key steps{input.scale.at(0)};
    steps.insert(steps.end(), quantized.encoding.scale.begin(), quantized.encoding.scale.end());
    set_constant(node.inputs[2], cache_.get(*source_.value(node.inputs[2]).constant, DType::i32,
                                            steps, [&](std::string name) {
                                              return quantize_bias(bias, input, quantized.encoding,
                                                                   std::move(name));
                                            }));
  }

  [[noreturn]] static void refuse_weight(const Node& node, const Value& weight) {
    fail({.what = "the weight of a product is not a constant",
          .where = node.module,
          .found = "%" + weight.name});
  }

  std::vector<float> read_constant(const Node& node, size_t index) const {
    const Value& value = source_.value(node.inputs[index]);
    if (!value.is_constant()) refuse_weight(node, value);
    return read_all(*value.constant, value.shape);
  }

  void set_constant(ValueId id, const QuantizedConstant& quantized) {
    graph_.set_value_type(id, quantized.encoding.dtype, quantized.encoding);
    graph_.set_constant(id, quantized.constant);
  }

  const Graph& source_;
  Graph graph_;
  const EncodingTable& encodings_;
  WeightCache& cache_;
  ThreadPool& pool_;
};

}  // namespace

void require_same_structure(const Graph& a, const Graph& b) {
  if (a.order() != b.order()) refuse_roles(a, b, "the nodes are not the same");
  for (const NodeId id : a.order()) require_same_node(a, b, id);
  if (a.inputs() != b.inputs()) refuse_roles(a, b, "the inputs are not the same");
  const bool same_outputs = std::equal(
      a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(),
      [](const auto& x, const auto& y) { return x.name == y.name && x.value == y.value; });
  if (!same_outputs) refuse_roles(a, b, "the outputs are not the same");
}

EncodingTable make_encodings(const Graph& graph, const Annotation& annotation,
                             const RangeTable& ranges, const Recipe& recipe, ThreadPool& pool) {
  EncodingTable encodings(static_cast<size_t>(graph.value_count()));
  for (int32_t group = 0; group < annotation.groups.count(); ++group) {
    const Encoding encoding = group_encoding(graph, annotation, group, ranges, recipe, pool);
    for (const ValueId id : annotation.groups.members(group)) {
      encodings[static_cast<size_t>(id)] = encoding;
    }
  }
  return encodings;
}

Graph convert(const Graph& graph, const EncodingTable& encodings, WeightCache& cache,
              ThreadPool& pool) {
  return Converter(graph, encodings, cache, pool).run();
}

}  // namespace lathe
