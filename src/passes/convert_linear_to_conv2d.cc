// Before, rows [1, AR, K]:
//   %linear = aten.linear(%x, %w)
//
// After, with %w as [N, K, 1, 1]:
//   %reshape = aten.reshape(%x) {sizes=[1, AR, K, 1]}
//   %permute = aten.permute(%reshape) {dims=[0, 2, 3, 1]}
//   %conv2d = aten.conv2d(%permute, %w)
//   %permute_1 = aten.permute(%conv2d) {dims=[0, 3, 1, 2]}
//   %reshape_1 = aten.reshape(%permute_1) {sizes=[1, AR, N]}
//
// Everything but conv2d only moves numbers, so all of it has one encoding on each side of the
// product. Rows of four dimensions need no reshape.
//
// Done before annotation, 8-bit values begin directly behind the conv2d. Done on an integer graph,
// where the change of encoding already stands behind the linear, they begin behind the reshape:
// conv2d(16) -> permute(16) -> reshape(16) -> requantize(8), and every permute moves twice the
// bytes.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/rewrite.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// How the rows of a product lie around a conv2d.
struct RowLayout {
  std::vector<int64_t> into;  // of permute: rows -> [B, K, H, W]
  std::vector<int64_t> back;
  bool reshapes = false;  // [..., AR, K] <-> [B, AR, K, 1]
};

RowLayout layout_of(size_t rank) {
  if (rank == 4) return {{0, 3, 1, 2}, {0, 2, 3, 1}, false};
  return {{0, 2, 3, 1}, {0, 3, 1, 2}, true};
}

class Conversion {
 public:
  explicit Conversion(Graph& graph) : graph_(graph), order_(graph.order()) {}

  void run() {
    for (const NodeId id : order_) {
      if (graph_.node(id).op != Op::linear) continue;
      const std::vector<ValueId>& inputs = graph_.node(id).inputs;
      if (!graph_.value(inputs[1]).is_constant()) continue;
      const size_t rank = graph_.value(inputs[0]).shape.size();
      if (rank >= 2 && rank <= 4) convert(id);
    }
    graph_.remove_dead();
  }

 private:
  ValueId insert(NodeId before, Op op, std::vector<ValueId> inputs, Attributes attributes,
                 ValueId like) {
    const ValueId value = graph_.insert_before(before, {.op = op,
                                                        .inputs = std::move(inputs),
                                                        .attributes = std::move(attributes),
                                                        .module = graph_.node(before).module});
    take_type(graph_, value, like);
    return value;
  }

  /// Rows as [B, K, H, W]; the first product that reads them makes it for all.
  ValueId channels_first(NodeId linear, ValueId rows) {
    const auto found = channels_first_.find(rows);
    if (found != channels_first_.end()) return found->second;
    const Shape shape = graph_.value(rows).shape;
    const RowLayout layout = layout_of(shape.size());
    ValueId value = rows;
    if (layout.reshapes) {
      const int64_t batch = shape.size() == 3 ? shape[0] : 1;
      const Shape sizes{batch, shape[shape.size() - 2], shape.back(), 1};
      value = insert(linear, Op::reshape, {value}, {{"sizes", sizes}}, rows);
    }
    value = insert(linear, Op::permute, {value}, {{"dims", layout.into}}, rows);
    channels_first_.emplace(rows, value);
    return value;
  }

  /// Whether a weight is also something else than the weight of products: a tied embedding.
  bool is_tied(ValueId weight) const {
    return std::any_of(order_.begin(), order_.end(), [&](NodeId id) {
      const Node& node = graph_.node(id);
      return node.op != Op::linear &&
             std::find(node.inputs.begin(), node.inputs.end(), weight) != node.inputs.end();
    });
  }

  /// [N, K] -> [N, K, 1, 1] over the same numbers, once for all products with this weight.
  ValueId as_filter(NodeId linear, ValueId weight) {
    const auto found = filters_.find(weight);
    if (found != filters_.end()) return found->second;
    const Value matrix = graph_.value(weight);
    std::string name = is_tied(weight) ? graph_.node(linear).module + ".weight" : matrix.name;
    const ValueId filter = graph_.add_constant(
        std::move(name), matrix.dtype, {matrix.shape[0], matrix.shape[1], 1, 1}, matrix.constant);
    take_type(graph_, filter, weight);
    filters_.emplace(weight, filter);
    return filter;
  }

  void convert(NodeId id) {
    const Node linear = graph_.node(id);
    const Shape shape = graph_.value(linear.output()).shape;
    const RowLayout layout = layout_of(shape.size());
    std::vector<ValueId> inputs = linear.inputs;
    inputs[0] = channels_first(id, inputs[0]);
    inputs[1] = as_filter(id, inputs[1]);
    ValueId value = insert(id, Op::conv2d, std::move(inputs), {}, linear.output());
    value = insert(id, Op::permute, {value}, {{"dims", layout.back}}, linear.output());
    if (layout.reshapes) {
      value = insert(id, Op::reshape, {value}, {{"sizes", shape}}, linear.output());
    }
    graph_.replace_uses(linear.output(), value);
  }

  Graph& graph_;
  std::vector<NodeId> order_;  // before anything is inserted
  std::map<ValueId, ValueId> channels_first_;
  std::map<ValueId, ValueId> filters_;
};

}  // namespace

void convert_linear_to_conv2d(Graph& graph) { Conversion(graph).run(); }

}  // namespace lathe
