// Before:
//   %unsqueeze = aten.unsqueeze(%position_ids) {dim=2}
//   %to = aten.to(%unsqueeze) {dtype=f32}
//   %mul = aten.mul(%to, %inv_freq)
//   %cat = aten.cat(%mul, %mul) {dim=-1}
//   %cos = aten.cos(%cat)
//   %mul_1 = aten.mul(%cos) {other=1.2}   (where the model scales them)
// where %inv_freq may be computed from constants and %position_ids: then it is what a text as long
// as the context gives.
//
// After:
//   input %position : i32[1, AR]
//   const %rotary_emb.cos_table : f32[CL, D]
//   %embedding = aten.embedding(%rotary_emb.cos_table, %position)

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/rotary_table.h"
#include "passes/constant_value.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// cos or sin of position * inv_freq, both halves alike.
struct Rotary {
  Op function = Op::cos;
  ValueId positions = kNone;            // ids [1, AR]
  ValueId inverse_frequencies = kNone;  // [D / 2]
  ValueId result = kNone;               // [1, AR, D], after the optional scaling
  double scaling = 1.0;
};

std::optional<Rotary> match(const Graph& graph, const Node& node,
                            const std::vector<std::vector<NodeId>>& users) {
  if (node.op != Op::cos && node.op != Op::sin) return std::nullopt;
  const Node* both = producer_if(graph, node.inputs[0], {Op::cat});
  if (both == nullptr || both->inputs.size() != 2 || both->inputs[0] != both->inputs[1]) {
    return std::nullopt;
  }
  const Node* angles = producer_if(graph, both->inputs[0], {Op::mul});
  if (angles == nullptr || angles->inputs.size() != 2) return std::nullopt;
  const Node* positions = producer_if(graph, angles->inputs[0], {Op::to});
  const Node* column =
      positions == nullptr ? nullptr : producer_if(graph, positions->inputs[0], {Op::unsqueeze});
  if (column == nullptr) return std::nullopt;
  Rotary rotary{node.op, column->inputs[0], angles->inputs[1], node.output(), 1.0};
  const std::vector<NodeId>& readers = users[static_cast<size_t>(node.output())];
  if (readers.size() == 1) {
    const Node& reader = graph.node(readers.front());
    if (reader.op == Op::mul && reader.inputs.size() == 1) {
      rotary.result = reader.output();
      rotary.scaling = reader.attributes.real("other");
    }
  }
  return rotary;
}

/// 0, 1, ... CL - 1 as position ids.
ConstantTensor all_positions(const Graph& graph) {
  std::vector<int64_t> positions(static_cast<size_t>(graph.context()));
  std::iota(positions.begin(), positions.end(), 0);
  const auto bytes = std::as_bytes(std::span(positions));
  return {DType::i64, {1, graph.context()}, {bytes.begin(), bytes.end()}};
}

/// [D / 2], or nothing where they depend on something else than positions.
std::optional<std::vector<float>> frequencies_of(const Graph& graph, ConstantValues& values,
                                                 const Rotary& rotary) {
  values.assume(rotary.positions, all_positions(graph));
  const std::optional<ConstantTensor> found = values.find(rotary.inverse_frequencies);
  if (!found || found->dtype != DType::f32 || found->shape.size() != 1) return std::nullopt;
  std::vector<float> frequencies(static_cast<size_t>(found->shape[0]));
  std::memcpy(frequencies.data(), found->bytes.data(), found->bytes.size());
  return frequencies;
}

/// "model.rotary_emb.cos_table"; several rotations are told apart by what stands in front of
/// "inv_freq".
std::string table_name(const Graph& graph, const Node& node, const Rotary& rotary) {
  const Value& frequencies = graph.value(rotary.inverse_frequencies);
  constexpr std::string_view kEnding = "inv_freq";
  std::string prefix = node.module + ".";
  if (frequencies.is_constant() && frequencies.name.ends_with(kEnding)) {
    prefix = frequencies.name.substr(0, frequencies.name.size() - kEnding.size());
  }
  return prefix + (rotary.function == Op::cos ? "cos_table" : "sin_table");
}

}  // namespace

void precomputed_rope(Graph& graph) {
  const std::vector<std::vector<NodeId>> users = graph.users();
  const std::vector<NodeId> order = graph.order();
  ConstantValues values(graph);  // cos and sin have the same frequencies
  ValueId position = kNone;
  for (const NodeId id : order) {
    const std::optional<Rotary> rotary = match(graph, graph.node(id), users);
    if (!rotary) continue;
    std::optional<std::vector<float>> frequencies = frequencies_of(graph, values, *rotary);
    if (!frequencies) continue;
    if (position == kNone) {
      position = graph.add_input("position", DType::i32, {1, graph.tokens_per_call()});
    }
    const std::string name = table_name(graph, graph.node(id), *rotary);
    // [CL, D]: both halves of a row are alike.
    const size_t half = frequencies->size();
    frequencies->resize(2 * half);
    std::copy_n(frequencies->begin(), half, frequencies->begin() + static_cast<int64_t>(half));
    std::vector<float> table =
        rotary_table(rotary->function, *frequencies, graph.context(), rotary->scaling);
    const ValueId rows = graph.add_constant(
        name, DType::f32, {graph.context(), static_cast<int64_t>(frequencies->size())},
        float_constant(name, std::move(table)));
    const ValueId picked = graph.insert_before(
        id, {.op = Op::embedding, .inputs = {rows, position}, .module = graph.node(id).module});
    graph.replace_uses(rotary->result, picked);
  }
  graph.remove_dead();
}

}  // namespace lathe
