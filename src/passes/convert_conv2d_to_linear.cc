// Before:                                    After:
//   %conv2d = aten.conv2d(%x, %w)              %permute = aten.permute(%x) {dims=[0, 3, 1, 2]}
//                                              %reshape = aten.reshape(%permute) {sizes=[1, W, K]}
//                                              %linear = aten.linear(%reshape, %w)
//                                              %reshape_1 = aten.reshape(%linear)
//                                                               {sizes=[1, W, N, 1]}
//                                              %permute_1 = aten.permute(%reshape_1)
//                                                               {dims=[0, 2, 3, 1]}
// for %x [1, K, 1, W]; where there is more than one row of places, as [B, H, W, K]. The permutes
// that convert_linear_to_conv2d has put around the product and those from here undo each other.

#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {

std::vector<std::pair<ValueId, ValueId>> convert_conv2d_to_linear(Graph& graph) {
  std::vector<std::pair<ValueId, ValueId>> same_numbers;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const Node conv = graph.node(id);
    if (conv.op != Op::conv2d) continue;
    const auto insert = [&](Op op, std::vector<ValueId> inputs, Attributes attributes) {
      return graph.insert_before(id, {.op = op,
                                      .inputs = std::move(inputs),
                                      .attributes = std::move(attributes),
                                      .module = conv.module});
    };
    const Shape x = graph.value(conv.inputs[0]).shape;  // [B, K, H, W]
    const Value filter = graph.value(conv.inputs[1]);   // [N, K, 1, 1]
    const int64_t channels = filter.shape[0];
    const bool flat = x[2] == 1;
    const std::vector<int64_t> into{0, flat ? 3 : 2, flat ? 1 : 3, flat ? 2 : 1};
    const std::vector<int64_t> back{0, flat ? 2 : 3, flat ? 3 : 1, flat ? 1 : 2};

    std::vector<ValueId> inputs = conv.inputs;
    inputs[0] = insert(Op::permute, {inputs[0]}, {{"dims", into}});
    if (flat) inputs[0] = insert(Op::reshape, {inputs[0]}, {{"sizes", Shape{x[0], x[3], x[1]}}});
    inputs[1] = graph.add_constant(filter.name, filter.dtype, {channels, x[1]}, filter.constant);
    const ValueId linear = insert(Op::linear, std::move(inputs), {});
    same_numbers.emplace_back(linear, conv.output());
    ValueId value = linear;
    if (flat) value = insert(Op::reshape, {value}, {{"sizes", Shape{x[0], x[3], channels, 1}}});
    value = insert(Op::permute, {value}, {{"dims", back}});
    graph.replace_uses(conv.output(), value);
  }
  graph.remove_dead();
  return same_numbers;
}

}  // namespace lathe
