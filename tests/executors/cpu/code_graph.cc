#include "executors/cpu/code_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "executors/cpu/plan.h"
#include "executors/cpu/session.h"
#include "executors/reference/evaluator_session.h"
#include "graph/fixed_encodings.h"
#include "graph/operators.h"
#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"
#include "graph/text.h"

namespace lathe {
namespace {

bool holds_codes(DType dtype) { return dtype == DType::u16 || dtype == DType::u8; }

/// The encoding that a node's output has where the text says none.
Encoding encoding_of(const Graph& graph, const Node& node) {
  const OperatorRule& rule = rule_of(node.op);
  if (rule.encoding == EncodingRule::moves_codes) return *graph.value(node.inputs[0]).encoding;
  if (rule.encoding == EncodingRule::unit) return unit_encoding();
  const auto id = static_cast<int32_t>(node.id);
  return {DType::u16,
          {8.0f / 65535.0f * (1.0f + 0.05f * static_cast<float>(id % 7))},
          30000 + 577 * (id % 9)};
}

void complete_encodings(Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const Value& value = graph.value(node.output());
    if (value.encoding || !holds_codes(value.dtype)) continue;
    const Encoding encoding = encoding_of(graph, node);
    graph.set_value_type(node.output(), encoding.dtype, encoding);
  }
}

bool is_product_weight(const Graph& graph, ValueId id) {
  const std::vector<NodeId> users = graph.users()[static_cast<size_t>(id)];
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    return (node.op == Op::linear || node.op == Op::conv2d) && node.inputs[1] == id;
  });
}

/// The fewest rows of a table that `ids` names rows of.
int64_t rows_named_by(const Graph& graph, ValueId ids) {
  int64_t rows = 1 << 20;
  const std::vector<NodeId> users = graph.users()[static_cast<size_t>(ids)];
  for (const NodeId user : users) {
    const Node& node = graph.node(user);
    if (node.op == Op::embedding) rows = std::min(rows, graph.value(node.inputs[0]).shape[0]);
  }
  return rows;
}

std::vector<std::byte> pack(const std::vector<std::byte>& weights, int64_t channels, int64_t k) {
  std::vector<std::byte> bytes(packed_constant_bytes(channels, k));
  auto* packed = reinterpret_cast<int8_t*>(bytes.data());
  pack_weights(reinterpret_cast<const int8_t*>(weights.data()), channels, k, packed);
  std::vector<int32_t> sums(static_cast<size_t>(channels));
  sum_packed_weights(packed, channels, k, sums.data());
  if (channels > 0) {
    std::memcpy(packed_weight_sums(packed, channels, k), sums.data(),
                sums.size() * sizeof(int32_t));
  }
  return bytes;
}

}  // namespace

CodeGraph::CodeGraph(std::string_view text, uint32_t seed) : CodeGraph(parse_graph(text), seed) {}

CodeGraph::CodeGraph(Graph graph, uint32_t seed) : graph_(std::move(graph)), random_(seed) {
  complete_encodings(graph_);
  fill();
}

void CodeGraph::fill() {
  for (ValueId id = 0; id < graph_.value_count(); ++id) {
    if (!graph_.value(id).is_constant()) continue;
    if (graph_.value(id).encoding && graph_.value(id).encoding->per_channel()) {
      Encoding encoding = *graph_.value(id).encoding;
      std::uniform_real_distribution<float> scale(0.5f / 127.0f, 1.0f / 127.0f);
      for (float& s : encoding.scale) s = scale(random_);
      graph_.set_value_type(id, encoding.dtype, encoding);
    }
    const Value& value = graph_.value(id);
    const bool int4 = value.dtype == DType::i4;
    std::vector<std::byte> bytes = int4 ? random_int4(value) : random_bytes(value);
    const bool int8 = value.dtype == DType::i8 && is_product_weight(graph_, id);
    if (int8) bytes = pack(bytes, value.shape[0], value.shape[1]);
    const bool packed = int8 || int4;
    graph_.set_constant(
        id, bytes_constant(value.name, std::move(bytes), packed ? Layout::packed : Layout::rows));
  }
  for (const ValueId id : graph_.inputs()) {
    const Value& value = graph_.value(id);
    inputs_[value.name] = random_bytes(value);
    if (value.dtype != DType::i32) continue;
    std::vector<int32_t> ids(static_cast<size_t>(elements(value.shape)));
    std::uniform_int_distribution<int64_t> row(0, rows_named_by(graph_, id) - 1);
    for (int32_t& one : ids) one = static_cast<int32_t>(row(random_));
    set_input(value.name, ids);
  }
}

std::vector<std::byte> CodeGraph::random_int4(const Value& weight) {
  const Int4Matrix matrix = int4_matrix(weight);
  std::vector<std::byte> bytes(int4_constant_bytes(matrix));
  std::uniform_int_distribution<int> code(-7, 7);
  std::uniform_int_distribution<int> factor(1, 16);
  std::vector<int8_t> codes(static_cast<size_t>(kPackedChannels * matrix.k));
  std::vector<uint8_t> factors(static_cast<size_t>(kPackedChannels * matrix.blocks()));
  std::byte* group = bytes.data();
  for (int64_t first = 0; first < matrix.channels; first += kPackedChannels) {
    const int64_t count = std::min(kPackedChannels, matrix.channels - first);
    for (int8_t& one : codes) one = static_cast<int8_t>(code(random_));
    for (uint8_t& one : factors) one = static_cast<uint8_t>(factor(random_));
    // One block of every channel has the largest factor: its scale is what the others count in.
    for (size_t i = 0; i < factors.size(); i += static_cast<size_t>(matrix.blocks())) {
      factors[i] = 16;
    }
    pack_int4_group(codes.data(), factors.data(), count, matrix, group);
    unpack_int4_group(group, count, matrix, codes.data());
    for (int64_t c = 0; c < count; ++c) {
      const auto row = codes.begin() + c * matrix.k;
      int4_sums(bytes.data(), matrix)[first + c] = std::accumulate(row, row + matrix.k, 0);
    }
    group += int4_group_bytes(matrix);
  }
  return bytes;
}

std::vector<std::byte> CodeGraph::random_bytes(const Value& value) {
  std::vector<std::byte> bytes(static_cast<size_t>(byte_size(value.dtype, value.shape)));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_() >> 24);
  for (std::byte& byte : bytes) {
    // -128 is no code of an i8 weight.
    if (value.dtype == DType::i8 && byte == std::byte{0x80}) byte = std::byte{0x81};
  }
  if (value.name.ends_with("mask")) {
    for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
      bytes[i] = bytes[i + 1] = random_() % 2 == 0 ? std::byte{0xFF} : std::byte{0};
    }
  }
  if (value.dtype == DType::i32) {  // a bias: small beside what a product sums up to
    for (size_t i = 0; i + 3 < bytes.size(); i += 4) {
      const auto number = static_cast<int32_t>(random_() % 2'000'000) - 1'000'000;
      std::memcpy(&bytes[i], &number, sizeof number);
    }
  }
  return bytes;
}

void CodeGraph::bind_inputs(Session& session, int64_t gap) {
  for (const ValueId id : graph_.inputs()) {
    const Value& value = graph_.value(id);
    const std::vector<std::byte>& codes = inputs_.at(value.name);
    std::vector<std::byte>& memory = bound_[value.name];
    TensorView view = dense_view(value.dtype, value.shape, nullptr);
    if (gap == 0 || value.shape.size() < 2) {
      memory = codes;
    } else {
      const size_t row = static_cast<size_t>(byte_size(value.dtype, {value.shape.back()}));
      const size_t step = row + static_cast<size_t>(byte_size(value.dtype, {gap}));
      memory.assign(row == 0 ? 0 : codes.size() / row * step, std::byte{0x5A});
      for (size_t i = 0; row != 0 && i < codes.size() / row; ++i) {
        std::copy_n(codes.data() + i * row, row, memory.data() + i * step);
      }
      Shape longer = value.shape;
      longer.back() += gap;
      view.strides = dense_strides(longer);
    }
    view.data = memory.data();
    session.bind(value.name, view);
  }
}

Results CodeGraph::run(Session& session, int64_t gap) {
  bind_inputs(session, gap);
  Results results;
  for (const GraphOutput& output : graph_.outputs()) {
    const Value& value = graph_.value(output.value);
    std::vector<std::byte>& bytes = results[output.name];
    bytes.resize(static_cast<size_t>(byte_size(value.dtype, value.shape)));
    session.bind(output.name, dense_view(value.dtype, value.shape, bytes.data()));
  }
  session.run();
  return results;
}

Results CodeGraph::run_reference() {
  ReferenceSession session(std::make_shared<const Graph>(graph_));
  return run(session);
}

std::shared_ptr<ThreadPool> team_of(int threads) {
  static std::map<int, std::shared_ptr<ThreadPool>> teams;
  std::shared_ptr<ThreadPool>& team = teams[threads];
  if (team == nullptr) team = std::make_shared<ThreadPool>(threads);
  return team;
}

std::vector<std::string> step_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const PlannedStep& planned : lower(graph, 1).steps) names.push_back(planned.step->name());
  return names;
}

Results run_everywhere(CodeGraph& graph) {
  Results first;
  for (const Isa isa : available_isas()) {
    for (int threads = 1; threads <= 3; ++threads) {
      const auto session = make_cpu_session(graph.graph(), team_of(threads), kernels_for(isa));
      const Results dense = graph.run(*session);
      const Results windows = graph.run(*session, 3);
      if (first.empty()) first = dense;
      EXPECT_TRUE(dense == first) << name_of(isa) << ", " << threads << " threads\n"
                                  << print_graph(graph.graph());
      EXPECT_TRUE(windows == first) << name_of(isa) << ", " << threads << " threads, windows\n"
                                    << print_graph(graph.graph());
    }
  }
  return first;
}

int64_t code_difference(const Graph& graph, const std::string& output, const Results& a,
                        const Results& b) {
  const IoContract io = graph.io();
  const auto size = static_cast<size_t>(bits_of(io.find_output(output)->dtype) / 8);
  const std::vector<std::byte>& x = a.at(output);
  const std::vector<std::byte>& y = b.at(output);
  int64_t largest = 0;
  for (size_t i = 0; i < x.size(); i += size) {
    int64_t p = 0;
    int64_t q = 0;
    std::memcpy(&p, &x[i], size);
    std::memcpy(&q, &y[i], size);
    largest = std::max(largest, std::abs(p - q));
  }
  return largest;
}

void expect_as_reference(CodeGraph& graph, int64_t codes) {
  const Results expected = graph.run_reference();
  const Results found = run_everywhere(graph);
  for (const auto& [name, bytes] : expected) {
    EXPECT_LE(code_difference(graph.graph(), name, found, expected), codes)
        << name << " of\n"
        << print_graph(graph.graph());
  }
}

std::string with(std::string text, const std::string& part, const std::string& replacement) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  EXPECT_EQ(text.find(part, at + 1), std::string::npos) << part;
  return text.replace(at, part.size(), replacement);
}

}  // namespace lathe
