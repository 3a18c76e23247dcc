#include "graph/value_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "graph/attribute_meaning.h"
#include "support/hasher.h"

namespace lathe {
namespace {

/// Everything about a value but where it comes from.
std::string describe(const Value& value) {
  std::string text = fmt::format("{}{}", name_of(value.dtype), to_string(value.shape));
  if (value.spec) text += " ~" + to_string(*value.spec);
  if (value.read_as) text += " >" + to_string(*value.read_as);
  if (value.encoding) {
    const std::vector<float>& scale = value.encoding->scale;
    text += fmt::format(" {} {} ", to_string(*value.encoding), value.encoding->zero_point);
    text.append(reinterpret_cast<const char*>(scale.data()), scale.size() * sizeof(float));
  }
  return text;
}

std::vector<int64_t> transposed_dims(size_t rank, const Attributes& attributes) {
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i);
  const auto place = [&](std::string_view name) -> int64_t& {
    const int64_t dim = attributes.integer(name);
    return dims[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim)];
  };
  std::swap(place("dim0"), place("dim1"));
  return dims;
}

}  // namespace

bool is_commutative(const Node& node) {
  return (node.op == Op::add || node.op == Op::mul) && node.inputs.size() == 2;
}

bool has_data(const Constant& constant) {
  return constant.floats != nullptr || constant.bytes != nullptr;
}

std::string content_hash(const Value& constant) {
  const Constant& data = *constant.constant;
  Hasher hasher;
  hasher.add(static_cast<int64_t>(data.layout));
  if (data.floats == nullptr) {
    hasher.add(std::span(data.bytes.get(), static_cast<size_t>(data.byte_count)));
    return hasher.hex();
  }
  // In pieces along the first dimension, so that no weight is held as float32 in full.
  constexpr int64_t kPiece = int64_t{1} << 20;
  const int64_t total = elements(constant.shape);
  const int64_t step = constant.shape.size() < 2 || total == 0 ? total : total / constant.shape[0];
  const int64_t piece = std::max<int64_t>(kPiece / std::max<int64_t>(step, 1), 1) * step;
  std::vector<float> floats(static_cast<size_t>(std::min(piece, total)));
  for (int64_t begin = 0; begin < total; begin += piece) {
    const int64_t count = std::min(piece, total - begin);
    data.floats->read(begin, count, floats.data());
    hasher.add(std::as_bytes(std::span(floats.data(), static_cast<size_t>(count))));
  }
  return hasher.hex();
}

int32_t ValueNumbers::intern(std::string key) {
  const auto next = static_cast<int32_t>(numbers_.size());
  return numbers_.try_emplace(std::move(key), next).first->second;
}

std::vector<int32_t> ValueNumbers::number(const Graph& graph) {
  std::vector<int32_t> numbers(static_cast<size_t>(graph.value_count()), kNone);
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    numbers[static_cast<size_t>(id)] =
        intern(fmt::format("input {} {} {}", value.name.size(), value.name, describe(value)));
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const ValueId input : node.inputs) {
      int32_t& number = numbers[static_cast<size_t>(input)];
      if (number == kNone && graph.value(input).is_constant()) {
        number = number_constant(graph.value(input));
      }
    }
    const int32_t moved =
        movement_ == Movement::merged ? number_movement(graph, node, numbers) : kNone;
    const int32_t number = moved != kNone ? moved : number_node(graph, node, numbers);
    numbers[static_cast<size_t>(node.output())] = number;
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      numbers[static_cast<size_t>(node.outputs[i])] = intern(fmt::format("{} of {}", i, number));
    }
  }
  return numbers;
}

int32_t ValueNumbers::number_constant(const Value& value) {
  const Constant& constant = *value.constant;
  std::string key = "const ";
  if (no_data_ == NoData::type) {
    // Also for those with data, which may stand for one without in the other graph.
  } else if (has_data(constant)) {
    std::string& hash = contents_[&constant];
    if (hash.empty()) hash = content_hash(value);
    key += hash;
  } else {
    key += "named " + constant.name;
  }
  return intern(key + " " + describe(value));
}

int32_t ValueNumbers::number_node(const Graph& graph, const Node& node,
                                  const std::vector<int32_t>& numbers) {
  std::vector<int32_t> operands;
  for (const ValueId input : node.inputs) operands.push_back(numbers[static_cast<size_t>(input)]);
  if (is_commutative(node)) std::sort(operands.begin(), operands.end());
  std::string key = fmt::format("op {}", static_cast<int>(node.op));
  for (const int32_t operand : operands) key += fmt::format(" {}", operand);
  for (const auto& [name, item] : attribute_meaning(graph, node)) {
    key += fmt::format(" {}={}", name, item);
  }
  for (const ValueId output : node.outputs) key += " : " + describe(graph.value(output));
  return intern(std::move(key));
}

int32_t ValueNumbers::number_movement(const Graph& graph, const Node& node,
                                      const std::vector<int32_t>& numbers) {
  if (node.inputs.size() != 1) return kNone;
  const Value& input = graph.value(node.inputs.front());
  const Value& output = graph.value(node.output());
  const int32_t from = numbers[static_cast<size_t>(node.inputs.front())];
  switch (node.op) {
    case Op::alias:
    case Op::dropout:
    case Op::reshape:
    case Op::unsqueeze:
    case Op::view:
      return reshaped(from, input.shape, output.shape);
    case Op::expand:
      return input.shape == output.shape ? from : kNone;
    case Op::permute:
      return permuted(from, input.shape, node.attributes.integers("dims"), output.shape);
    case Op::requantize:
      return input.encoding && input.encoding == output.encoding ? from : kNone;
    case Op::transpose:
      return permuted(from, input.shape, transposed_dims(input.shape.size(), node.attributes),
                      output.shape);
    default:
      return kNone;
  }
}

int32_t ValueNumbers::reshaped(int32_t from, const Shape& shape, const Shape& to) {
  Moved moved{from, shape, {}};
  if (const auto before = reshapes_.find(from); before != reshapes_.end()) moved = before->second;
  if (moved.shape == to) return moved.from;
  const int32_t number = intern(fmt::format("reshape {} {}", moved.from, to_string(to)));
  reshapes_.emplace(number, std::move(moved));
  return number;
}

int32_t ValueNumbers::permuted(int32_t from, const Shape& shape, const std::vector<int64_t>& dims,
                               const Shape& to) {
  Moved moved{from, shape, dims};
  if (const auto before = permutes_.find(from); before != permutes_.end()) {
    moved = before->second;
    for (size_t i = 0; i < dims.size(); ++i) {
      moved.dims[i] = before->second.dims[static_cast<size_t>(dims[i])];
    }
  }
  // Dimensions of one element may go anywhere: nothing moves.
  std::vector<int64_t> order;
  for (const int64_t dim : moved.dims) {
    if (moved.shape[static_cast<size_t>(dim)] != 1) order.push_back(dim);
  }
  if (std::is_sorted(order.begin(), order.end())) return reshaped(moved.from, moved.shape, to);
  const int32_t number = intern(fmt::format("permute {} {}", moved.from, to_string(moved.dims)));
  permutes_.emplace(number, std::move(moved));
  return number;
}

}  // namespace lathe
