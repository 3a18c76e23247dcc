// Before:
//   %unsqueeze = aten.unsqueeze(%position_ids) {dim=2}
//   %to = aten.to(%unsqueeze) {dtype=f32}
//   %mul = aten.mul(%to, %inv_freq)
//   %cat = aten.cat(%mul, %mul) {dim=-1}
//   %cos = aten.cos(%cat)
//   %mul_1 = aten.mul(%cos) {other=1.2}   (where the model scales them)
//
// After:
//   input %position : i32[1, AR]
//   const %rotary_emb.cos_table : f32[CL, D]
//   %embedding = aten.embedding(%rotary_emb.cos_table, %position)

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/rotary_table.h"
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

/// [CL, D]: both halves of a row are alike.
std::vector<float> table(const Graph& graph, const Rotary& rotary) {
  const Value& source = graph.value(rotary.inverse_frequencies);
  const auto half = static_cast<size_t>(source.shape[0]);
  std::vector<float> frequencies(2 * half);
  source.constant->floats->read(0, source.shape[0], frequencies.data());
  std::copy_n(frequencies.begin(), half, frequencies.begin() + source.shape[0]);
  return rotary_table(rotary.function, frequencies, graph.context(), rotary.scaling);
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
