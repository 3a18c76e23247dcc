#include "quant/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/fixed_encodings.h"
#include "graph/groups.h"
#include "graph/operators.h"
#include "quant/encodings.h"
#include "quant/quantized_weights.h"
#include "quant/scale_search.h"
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

ValueRange group_range(const Graph& graph, const Groups& groups, int32_t group,
                       const RangeTable& ranges, ThreadPool& pool);

ValueRange source_range(const Graph& graph, const Groups& groups, ValueId id,
                        const RangeTable& ranges, ThreadPool& pool) {
  const Value& value = graph.value(id);
  if (value.is_constant()) return constant_range(*value.constant, value.shape, pool);
  const Node* producer = graph.producer(id);
  if (producer != nullptr && producer->op == Op::requantize) {
    return group_range(graph, groups, groups.of(producer->inputs[0]), ranges, pool);
  }
  if (producer != nullptr && rule_of(producer->op).encoding == EncodingRule::unit) {
    return {0.0f, 1.0f};
  }
  const ValueRange range =
      static_cast<size_t>(id) < ranges.size() ? ranges[static_cast<size_t>(id)] : ValueRange{};
  if (range.empty() && producer != nullptr) {
    fail({.what = "calibration did not see this value",
          .where = fmt::format("%{} of {}", value.name, producer->module)});
  }
  return range;
}

/// What all numbers of a group lie in.
ValueRange group_range(const Graph& graph, const Groups& groups, int32_t group,
                       const RangeTable& ranges, ThreadPool& pool) {
  ValueRange range;
  for (const ValueId source : groups.sources(group)) {
    range.include(source_range(graph, groups, source, ranges, pool));
  }
  return range;
}

/// Smallest range that holds the whole table and [-1, 1], the same on both sides.
ValueRange rotary_range(const ValueRange& table) {
  const float bound = std::max(1.0f, table.max_abs());
  return {-bound, bound};
}

Encoding group_encoding(const Graph& graph, const Groups& groups, int32_t group,
                        const RangeTable& ranges, int headroom, ThreadPool& pool) {
  const Value& first = graph.value(groups.sources(group).front());
  if (!first.spec) fail({.what = "the value is not annotated", .where = "%" + first.name});
  const QuantSpec& spec = *first.spec;
  if (spec.scheme == Scheme::mask) return attention_mask_encoding();
  if (spec.scheme == Scheme::unit) return unit_encoding();
  ValueRange range = group_range(graph, groups, group, ranges, pool);
  if (spec.scheme == Scheme::rotary) {
    range = rotary_range(range);
  } else if (spec.dtype == DType::u16 && !groups.has_constant(graph, group)) {
    range = with_headroom(range, headroom);
  }
  return activation_encoding(spec, range, first.name);
}

// --- conversion

class Converter {
 public:
  Converter(const Graph& graph, const EncodingTable& encodings, const WeightPlan& weights,
            WeightCache& cache, ThreadPool& pool)
      : source_(graph),
        graph_(graph.role(), graph.tokens_per_call(), graph.context(), graph.window()),
        encodings_(encodings),
        weights_(weights),
        cache_(cache),
        pool_(pool),
        now_(static_cast<size_t>(graph.value_count()), kNone) {}

  Graph run() {
    graph_.continue_names_of(source_);
    for (const ValueId id : source_.inputs()) {
      const Value& input = source_.value(id);
      set(id, behind_codes(id, graph_.add_input(input.name, input.dtype, input.shape), {}));
    }
    for (const NodeId id : source_.order()) convert_node(source_.node(id));
    for (const GraphOutput& output : source_.outputs()) {
      graph_.add_output(output.name, at(output.value));
    }
    return std::move(graph_);
  }

 private:
  ValueId at(ValueId id) const { return now_[static_cast<size_t>(id)]; }
  void set(ValueId id, ValueId converted) { now_[static_cast<size_t>(id)] = converted; }
  const std::optional<Encoding>& encoding_of(ValueId id) const {
    return encodings_.at(static_cast<size_t>(id));
  }

  /// The real numbers of `id` again, once they have been codes.
  ValueId behind_codes(ValueId id, ValueId real, const std::string& module) {
    const std::optional<Encoding>& encoding = encoding_of(id);
    if (!encoding) return real;
    const ValueId codes =
        graph_.append({.op = Op::quantize,
                       .inputs = {real},
                       .attributes = {{"dtype", std::string(name_of(encoding->dtype))}},
                       .module = module});
    graph_.set_value_type(codes, encoding->dtype, encoding);
    return graph_.append({.op = Op::dequantize, .inputs = {codes}, .module = module});
  }

  void convert_node(const Node& node) {
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (source_.value(id).is_constant() && at(id) == kNone) {
        set(id, is_weight(node, i) ? convert_weight(node, i) : convert_constant(id));
      }
      inputs.push_back(at(id));
    }
    // A change of encoding is what quantize behind dequantize says.
    const ValueId real = node.op == Op::requantize
                             ? inputs[0]
                             : graph_.append({.op = node.op,
                                              .inputs = std::move(inputs),
                                              .attributes = node.attributes,
                                              .module = node.module,
                                              .name = source_.value(node.output()).name});
    set(node.output(), behind_codes(node.output(), real, node.module));
  }

  ValueId add_codes(const Value& value, const QuantizedConstant& quantized) {
    const ValueId codes =
        graph_.add_constant(value.name, quantized.encoding.dtype, value.shape, quantized.constant);
    graph_.set_value_type(codes, quantized.encoding.dtype, quantized.encoding);
    return graph_.append({.op = Op::dequantize, .inputs = {codes}});
  }

  ValueId convert_constant(ValueId id) {
    const Value& value = source_.value(id);
    const std::optional<Encoding>& encoding = encoding_of(id);
    if (!encoding) return graph_.add_constant(value.name, value.dtype, value.shape, value.constant);
    return add_codes(value, cache_.get(*value.constant, name_of(encoding->dtype),
                                       {encoding->scale.at(0), double(encoding->zero_point)},
                                       [&](std::string name) {
                                         return quantize_activation(*value.constant, value.shape,
                                                                    *encoding, std::move(name),
                                                                    pool_);
                                       }));
  }

  /// Input `index` of a product: 1 is its weight, 2 its bias.
  ValueId convert_weight(const Node& node, size_t index) {
    const QuantizedConstant weight = quantized_weight(node);
    const Value& value = source_.value(node.inputs[index]);
    if (index == 1) return add_codes(value, weight);
    const Encoding& input = encoding_of(node.inputs[0]).value();
    WeightCache::Key steps{input.scale.at(0)};
    steps.insert(steps.end(), weight.encoding.scale.begin(), weight.encoding.scale.end());
    return add_codes(
        value, cache_.get(*value.constant, name_of(DType::i32), steps, [&](std::string name) {
          return quantize_bias(read_bias(node), input, weight.encoding, std::move(name));
        }));
  }

  QuantizedConstant quantized_weight(const Node& node) {
    const Value& weight = source_.value(node.inputs[1]);
    if (!weight.is_constant()) refuse_weight(node, weight);
    const WeightFormat& format = weights_.formats.at(node.id);
    std::vector<double> floors;
    const Encoding& input = encoding_of(node.inputs[0]).value();
    for (const float b : read_bias(node)) {
      floors.push_back(bias_scale_floor(b, input.scale.at(0)));
    }
    const std::span<const float> samples =
        weights_.search_steps > 0 ? weights_.samples->of(node.id) : std::span<const float>();
    WeightCache::Key key = floors;
    if (!samples.empty()) key.push_back(node.id);  // its scales depend on what it multiplies
    return cache_.get(*weight.constant, form_of(format), key, [&](std::string name) {
      std::vector<float> clips;
      if (!samples.empty()) {
        clips = search_clips(*weight.constant, weight.shape, format, floors, samples,
                             weights_.search_steps, pool_);
      }
      return quantize_weight(*weight.constant, weight.shape, format, floors, std::move(name), pool_,
                             clips);
    });
  }

  [[noreturn]] static void refuse_weight(const Node& node, const Value& weight) {
    fail({.what = "the weight of a product is not a constant",
          .where = node.module,
          .found = "%" + weight.name});
  }

  std::vector<float> read_bias(const Node& node) const {
    if (node.inputs.size() < 3) return {};
    const Value& value = source_.value(node.inputs[2]);
    if (!value.is_constant()) refuse_weight(node, value);
    return read_all(*value.constant, value.shape);
  }

  const Graph& source_;
  Graph graph_;
  const EncodingTable& encodings_;
  const WeightPlan& weights_;
  WeightCache& cache_;
  ThreadPool& pool_;
  std::vector<ValueId> now_;  // by value of the source: the real numbers in the new graph
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

EncodingTable make_encodings(const Graph& graph, const RangeTable& ranges, int headroom,
                             ThreadPool& pool) {
  const Groups groups(graph);
  EncodingTable encodings(static_cast<size_t>(graph.value_count()));
  for (int32_t group = 0; group < groups.count(); ++group) {
    const Encoding encoding = group_encoding(graph, groups, group, ranges, headroom, pool);
    for (const ValueId id : groups.members(group)) encodings[static_cast<size_t>(id)] = encoding;
  }
  return encodings;
}

Graph insert_qdq(const Graph& graph, const EncodingTable& encodings, const WeightPlan& weights,
                 WeightCache& cache, ThreadPool& pool) {
  return Converter(graph, encodings, weights, cache, pool).run();
}

}  // namespace lathe
