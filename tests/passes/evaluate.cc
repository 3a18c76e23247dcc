#include "passes/evaluate.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "executors/reference/codes.h"
#include "executors/reference/evaluator.h"
#include "graph/constant_floats.h"
#include "graph/fixed_encodings.h"
#include "graph/groups.h"
#include "graph/operators.h"
#include "graph/packed_weights.h"

namespace lathe {
namespace {

/// Numbers in [-1, 1) that depend on a name.
class MadeUp {
 public:
  explicit MadeUp(std::string_view name) {
    for (const char c : name) state_ = state_ * 131 + static_cast<unsigned char>(c);
  }
  uint32_t next() {
    state_ = state_ * 1664525u + 1013904223u;  // Numerical Recipes' generator
    return state_ >> 8;
  }
  float number() { return static_cast<float>(next()) / 8388608.0f - 1.0f; }

 private:
  uint32_t state_ = 1;
};

std::vector<float> made_up_floats(std::string_view name, const Shape& shape) {
  MadeUp random(name);
  std::vector<float> numbers(static_cast<size_t>(elements(shape)));
  for (float& number : numbers) number = random.number();
  return numbers;
}

/// The numbers of a norm's weight as codes.
void quantize_constant(Graph& graph, ValueId id, const Encoding& encoding) {
  const Value& value = graph.value(id);
  const std::vector<float> numbers = constant_floats(value);
  std::vector<std::byte> bytes(static_cast<size_t>(byte_size(encoding.dtype, value.shape)));
  quantize(numbers.data(), encoding, dense_view(encoding.dtype, value.shape, bytes.data()));
  graph.set_constant(id, bytes_constant(value.constant->name, std::move(bytes)));
}

void quantize_product(Graph& graph, const Node& node) {
  const Value weight = graph.value(node.inputs[1]);
  const int64_t channels = weight.shape[0];
  const int64_t k = weight.shape[1];
  MadeUp random(weight.name);
  std::vector<int8_t> codes(static_cast<size_t>(channels * k));
  for (int8_t& code : codes) code = static_cast<int8_t>(random.next() % 255) - 127;
  Encoding encoding{DType::i8, {}, 0, 0};
  for (int64_t c = 0; c < channels; ++c)
    encoding.scale.push_back(0.003f + 0.001f * random.number());
  std::vector<std::byte> bytes(packed_constant_bytes(channels, k));
  auto* packed = reinterpret_cast<int8_t*>(bytes.data());
  pack_weights(codes.data(), channels, k, packed);
  sum_packed_weights(packed, channels, k, packed_weight_sums(packed, channels, k));
  graph.set_constant(node.inputs[1],
                     bytes_constant(weight.constant->name, std::move(bytes), Layout::packed));
  graph.set_value_type(node.inputs[1], DType::i8, encoding);
  if (node.inputs.size() < 3) return;

  const Value bias = graph.value(node.inputs[2]);
  std::vector<std::byte> bias_bytes(static_cast<size_t>(channels) * sizeof(int32_t));
  for (int64_t c = 0; c < channels; ++c) {
    const auto code = static_cast<int32_t>(random.next() % 2000000) - 1000000;
    std::memcpy(bias_bytes.data() + static_cast<size_t>(c) * sizeof code, &code, sizeof code);
  }
  for (float& scale : encoding.scale) {
    scale *= graph.value(node.inputs[0]).encoding->scale[0];
  }
  encoding.dtype = DType::i32;
  graph.set_constant(node.inputs[2], bytes_constant(bias.constant->name, std::move(bias_bytes)));
  graph.set_value_type(node.inputs[2], DType::i32, encoding);
}

Encoding encoding_of(const Graph& graph, const Groups& groups, int32_t group) {
  for (const ValueId id : groups.members(group)) {
    const Node* producer = graph.producer(id);
    const std::string& name = graph.value(id).name;
    if (name == "attention_mask") return attention_mask_encoding();
    if (producer != nullptr && rule_of(producer->op).encoding == EncodingRule::unit)
      return unit_encoding();
    if (name.starts_with("k_cache_") || name.starts_with("v_cache_") ||
        (producer != nullptr && producer->op == Op::requantize)) {
      return {DType::u8, {0.03f}, 128, -1};
    }
  }
  const float scale = 1e-4f * static_cast<float>(1 + group % 3);
  return {DType::u16, {scale}, 30000 + group, -1};
}

}  // namespace

void fill_constants(Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.is_constant() || value.constant->floats != nullptr) continue;
    graph.set_constant(id, float_constant(value.name, made_up_floats(value.name, value.shape)));
  }
}

Graph made_up_integers(const Graph& graph) {
  Graph integer = graph;
  const Groups groups(graph);
  for (int32_t group = 0; group < groups.count(); ++group) {
    const Encoding encoding = encoding_of(graph, groups, group);
    for (const ValueId id : groups.members(group)) {
      if (graph.value(id).is_constant()) quantize_constant(integer, id, encoding);
      integer.set_value_type(id, encoding.dtype, encoding);
    }
  }
  for (const NodeId id : graph.order()) {
    if (graph.node(id).op == Op::conv2d) quantize_product(integer, graph.node(id));
  }
  return integer;
}

std::map<std::string, std::vector<std::byte>> evaluate(const Graph& graph) {
  const IoContract io = graph.io();
  Evaluator evaluator(std::make_shared<const Graph>(graph));
  std::vector<std::vector<std::byte>> inputs;
  inputs.reserve(io.inputs.size());
  for (const IoTensor& input : io.inputs) {
    std::vector<std::byte>& bytes =
        inputs.emplace_back(static_cast<size_t>(byte_size(input.dtype, input.shape)));
    const TensorView view = dense_view(input.dtype, input.shape, bytes.data());
    const std::vector<float> numbers = made_up_floats(input.name, input.shape);
    if (input.encoding) {
      quantize(numbers.data(), *input.encoding, view);
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(numbers.data()), bytes.size(), bytes.data());
    }
    evaluator.bind_input(input.name, view);
  }
  std::map<std::string, std::vector<std::byte>> outputs;
  for (const IoTensor& output : io.outputs) {
    std::vector<std::byte>& bytes = outputs[output.name];
    bytes.resize(static_cast<size_t>(byte_size(output.dtype, output.shape)));
    evaluator.bind_output(output.name, dense_view(output.dtype, output.shape, bytes.data()));
  }
  evaluator.run();
  return outputs;
}

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

int count(const Graph& graph, Op op) {
  return static_cast<int>(std::count_if(graph.order().begin(), graph.order().end(),
                                        [&](NodeId id) { return graph.node(id).op == op; }));
}

}  // namespace lathe
