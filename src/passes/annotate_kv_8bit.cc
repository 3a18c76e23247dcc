// Before:                                            After:
//   input %v_cache_0 ~u16                              input %v_cache_0 ~u8:symmetric
//   %conv2d = aten.conv2d(%x, %w) ~u16                 %conv2d = aten.conv2d(%x, %w)
//                                                                            ~u16>u8:symmetric
//   %permute = aten.permute(%conv2d) ~u16              %permute = ... ~u8:symmetric
//   %reshape = aten.reshape(%permute) ~u16             %reshape = ... ~u8:symmetric
//   %cat = aten.cat(%v_cache_0, %reshape) ~u16         %cat = ... ~u8:symmetric
//   %matmul = aten.matmul(%softmax, %cat) ~u16         %matmul = aten.matmul(%softmax, %cat) ~u16

#include <algorithm>

#include "graph/groups.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool is_cache(const Graph& graph, ValueId id, const Users& users) {
  const std::string& name = graph.value(id).name;
  if (name.starts_with("k_cache_") || name.starts_with("v_cache_")) return true;
  const std::vector<NodeId>& readers = users[static_cast<size_t>(id)];
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return graph.node(reader).op == Op::index_copy_ && graph.node(reader).inputs[0] == id;
  });
}

/// By group: whether it holds keys or values.
std::vector<bool> find_keys_and_values(const Graph& graph, const Groups& groups) {
  std::vector<bool> found(static_cast<size_t>(groups.count()), false);
  const auto mark = [&](ValueId id) { found[static_cast<size_t>(groups.of(id))] = true; };
  const auto is_activation = [&](ValueId id) {
    const int32_t group = groups.of(id);
    return group != kNone && !groups.has_constant(graph, group);
  };
  const Users users = graph.users();
  for (const ValueId id : graph.inputs()) {
    if (groups.of(id) != kNone && is_cache(graph, id, users)) mark(id);
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::matmul) continue;
    if (is_activation(node.inputs[0]) && is_activation(node.inputs[1])) mark(node.inputs[1]);
  }
  return found;
}

}  // namespace

void annotate_kv_8bit(Graph& graph, const PassOptions& options) {
  if (options.kv_bits != 8) return;
  const QuantSpec eight_bits{DType::u8, Scheme::symmetric};
  const Groups groups(graph);
  const std::vector<bool> keys_and_values = find_keys_and_values(graph, groups);
  for (int32_t group = 0; group < groups.count(); ++group) {
    if (!keys_and_values[static_cast<size_t>(group)]) continue;
    const std::vector<ValueId>& sources = groups.sources(group);
    for (const ValueId id : groups.members(group)) {
      const bool computed =
          graph.producer(id) != nullptr && std::binary_search(sources.begin(), sources.end(), id);
      if (computed) {
        graph.set_read_as(id, eight_bits);
      } else {
        graph.set_spec(id, eight_bits);
      }
    }
  }
}

}  // namespace lathe
