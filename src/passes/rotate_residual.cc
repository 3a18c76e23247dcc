// The residual stream x becomes x Q, with Q orthogonal and folded into the weights ("R1" of
// SpinQuant, Liu et al. 2024). A root-mean-square norm without its weight commutes with Q, so:
//
// Before:                                       After:
//   %x = embedding(T, ids)                        %x = embedding(T Q, ids)
//   %h = rms_norm(%x, g)                          %h = rms_norm(%x, 1)
//   %a = linear(%h, W)                            %a = linear(%h, W diag(g) Q)
//   %b = linear(%a, V)                            %b = linear(%a, Q^T V)
//   %y = add(%x, %b)                              %y = add(%x, %b)
//
// Language models put enormous numbers into one channel of the stream at the first token; Q spreads
// them over all channels, and one 16-bit encoding then resolves the other tokens as well.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/rotated_weights.h"

namespace lathe {
namespace {

/// The values that hold the residual stream, and the nodes around it.
struct Stream {
  int64_t width = 0;
  std::vector<NodeId> embeddings;  // write it
  std::vector<NodeId> writers;     // projections; write it
  std::vector<NodeId> norms;       // read it
};

/// The projection that gives `value` and nothing else; null where there is none.
const Node* sole_writer(const Graph& graph, const Users& users, ValueId value) {
  const Node* projection = projection_giving(graph, value);
  if (projection == nullptr || !has_floats(graph, projection->inputs[1])) return nullptr;
  for (ValueId step = value; step != projection->output();) {
    const Node& mover = *graph.producer(step);
    step = mover.inputs[0];
    if (users[static_cast<size_t>(step)].size() != 1 || is_output(graph, step)) return nullptr;
  }
  return projection;
}

/// Follows the stream from the input of a norm through all adds, in both directions. Nothing where
/// it is written or read in another way: then Q cannot be folded.
std::optional<Stream> find_stream(const Graph& graph) {
  const Users users = graph.users();
  std::vector<bool> seen(static_cast<size_t>(graph.value_count()), false);
  std::vector<ValueId> open;
  const auto visit = [&](ValueId id) {
    if (seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    open.push_back(id);
  };
  for (const NodeId id : graph.order()) {
    if (graph.node(id).op == Op::rms_norm && open.empty()) visit(graph.node(id).inputs[0]);
  }
  if (open.empty()) return std::nullopt;
  Stream stream;
  stream.width = graph.value(open.front()).shape.back();
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    const Node* producer = graph.producer(id);
    if (producer == nullptr) return std::nullopt;
    if (producer->op == Op::add && producer->inputs.size() == 2) {
      for (const ValueId input : producer->inputs) visit(input);
    } else if (producer->op == Op::embedding && has_floats(graph, producer->inputs[0])) {
      stream.embeddings.push_back(producer->id);
    } else {
      const Node* writer = sole_writer(graph, users, id);
      if (writer == nullptr) return std::nullopt;
      stream.writers.push_back(writer->id);
    }
    for (const NodeId reader : users[static_cast<size_t>(id)]) {
      const Node& node = graph.node(reader);
      if (node.op == Op::add && node.inputs.size() == 2) {
        visit(node.output());
      } else if (node.op == Op::rms_norm && has_floats(graph, node.inputs[1])) {
        if (std::find(stream.norms.begin(), stream.norms.end(), reader) == stream.norms.end()) {
          stream.norms.push_back(reader);
        }
      } else {
        return std::nullopt;
      }
    }
    for (const GraphOutput& output : graph.outputs()) {
      if (output.value == id) return std::nullopt;
    }
  }
  for (const NodeId norm : stream.norms) {
    if (!projections_reading(graph, users, graph.node(norm).output())) return std::nullopt;
  }
  for (std::vector<NodeId>* nodes : {&stream.embeddings, &stream.writers, &stream.norms}) {
    std::sort(nodes->begin(), nodes->end());
  }
  return stream;
}

class Rotation {
 public:
  Rotation(Graph& graph, const Stream& stream)
      : graph_(graph),
        q_(std::make_shared<const Orthogonal>(stream.width)),
        columns_(std::make_shared<ColumnRotator>(q_)) {}

  void rotate_embedding(NodeId id) {
    const ValueId table = graph_.node(id).inputs[0];
    replace_weight(graph_, id, 0, rotate_rows(floats(table), shape(table), nullptr, q_), "weight");
  }

  void rotate_writer(NodeId id) {
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    replace_weight(graph_, id, 1,
                   columns_->rotate(floats(inputs[1]), matrix_shape(graph_, inputs[1])), "weight");
    if (inputs.size() == 3) {
      replace_weight(graph_, id, 2, columns_->rotate(floats(inputs[2]), shape(inputs[2])), "bias");
    }
  }

  /// The norm loses its weight to the projections that read it.
  void rotate_readers(NodeId norm, const std::vector<NodeId>& readers) {
    const ValueId gamma = graph_.node(norm).inputs[1];
    for (const NodeId id : readers) {
      const ValueId weight = graph_.node(id).inputs[1];
      replace_weight(graph_, id, 1,
                     rotate_rows(floats(weight), matrix_shape(graph_, weight), floats(gamma), q_),
                     "weight");
    }
    const auto width = static_cast<size_t>(elements(shape(gamma)));
    replace_weight(graph_, norm, 1, float_constant({}, std::vector<float>(width, 1.0f))->floats,
                   "weight");
  }

 private:
  std::shared_ptr<const FloatSource> floats(ValueId id) const {
    return graph_.value(id).constant->floats;
  }
  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }

  Graph& graph_;
  std::shared_ptr<const Orthogonal> q_;
  std::shared_ptr<ColumnRotator> columns_;
};

}  // namespace

void rotate_residual(Graph& graph) {
  const std::optional<Stream> stream = find_stream(graph);
  if (!stream) return;
  const Users users = graph.users();
  Rotation rotation(graph, *stream);
  for (const NodeId id : stream->embeddings) rotation.rotate_embedding(id);
  for (const NodeId id : stream->writers) rotation.rotate_writer(id);
  for (const NodeId id : stream->norms) {
    rotation.rotate_readers(id, *projections_reading(graph, users, graph.node(id).output()));
  }
}

}  // namespace lathe
