// Before:                                                After:
//   %unsqueeze = aten.unsqueeze(%position_ids) {dim=2}     input %position : i32[1, AR]
//   %to = aten.to(%unsqueeze) {dtype=f32}                  const %rope_cos : f32[CL, D]
//   %mul = aten.mul(%to, %inv_freq)                        %embedding = aten.embedding(%rope_cos,
//   %position) %cat = aten.cat(%mul, %mul) {dim=-1} %cos = aten.cos(%cat) %mul_1 = aten.mul(%cos)
//   {other=1.2}   (optional)

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// cos or sin of position * inv_freq, both halves alike.
struct Rotary {
  Op function = Op::cos;
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
  if (angles == nullptr || angles->inputs.size() != 2 ||
      !is_vector_constant(graph, angles->inputs[1])) {
    return std::nullopt;
  }
  const Node* positions = producer_if(graph, angles->inputs[0], {Op::to});
  if (positions == nullptr ||
      producer_if(graph, positions->inputs[0], {Op::unsqueeze}) == nullptr) {
    return std::nullopt;
  }
  Rotary rotary{node.op, angles->inputs[1], node.output(), 1.0};
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

/// [CL, D]: function(position * inv_freq) * scaling in float32, as the modeling code computes it.
std::vector<float> table(const Graph& graph, const Rotary& rotary) {
  const Value& source = graph.value(rotary.inverse_frequencies);
  const int64_t half = source.shape[0];
  std::vector<float> frequencies(static_cast<size_t>(half));
  source.constant->floats->read(0, half, frequencies.data());
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(graph.context() * half * 2));
  for (int64_t position = 0; position < graph.context(); ++position) {
    for (int64_t i = 0; i < 2 * half; ++i) {
      const float angle = static_cast<float>(position) * frequencies[static_cast<size_t>(i % half)];
      const float number = rotary.function == Op::cos ? std::cos(angle) : std::sin(angle);
      rows.push_back(number * static_cast<float>(rotary.scaling));
    }
  }
  return rows;
}

}  // namespace

void precomputed_rope(Graph& graph) {
  const std::vector<std::vector<NodeId>> users = graph.users();
  const std::vector<NodeId> order = graph.order();
  ValueId position = kNone;
  for (const NodeId id : order) {
    const std::optional<Rotary> rotary = match(graph, graph.node(id), users);
    if (!rotary) continue;
    if (position == kNone) {
      position = graph.add_input("position", DType::i32, {1, graph.tokens_per_call()});
    }
    const std::string& frequencies = graph.value(rotary->inverse_frequencies).name;
    const std::string name = frequencies.substr(0, frequencies.rfind('.') + 1) +
                             (rotary->function == Op::cos ? "cos_table" : "sin_table");
    const int64_t width = 2 * graph.value(rotary->inverse_frequencies).shape[0];
    const ValueId rows = graph.add_constant(name, DType::f32, {graph.context(), width},
                                            float_constant(name, table(graph, *rotary)));
    const ValueId picked = graph.insert_before(
        id, {.op = Op::embedding, .inputs = {rows, position}, .module = graph.node(id).module});
    graph.replace_uses(rotary->result, picked);
  }
  graph.remove_dead();
}

}  // namespace lathe
