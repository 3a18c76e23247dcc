// Before:                                                After:
//   %permute = aten.permute(%x) {dims=[0, 3, 1, 2]}        %permute_1 = aten.permute(%x)
//   %transpose = aten.transpose(%permute)                      {dims=[0, 1, 3, 2]}
//                    {dim0=1, dim1=2}
//
// An order on the way that others read too stays for them. A chain that ends in the order it began
// with vanishes.

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/rewrite.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool is_permutation(const Node& node) { return node.op == Op::permute || node.op == Op::transpose; }

/// A permutation as it is reached from where its chain begins.
struct Chain {
  ValueId first = kNone;
  std::vector<int64_t> dims;
};

/// Whether anything but another permutation needs the value.
bool is_needed(const Graph& graph, const Users& users, ValueId value) {
  const std::vector<NodeId>& readers = users[static_cast<size_t>(value)];
  return is_output(graph, value) || std::any_of(readers.begin(), readers.end(), [&](NodeId id) {
           return !is_permutation(graph.node(id));
         });
}

}  // namespace

void fuse_consecutive_permute(Graph& graph) {
  const Users users = graph.users();
  std::vector<Chain> chains(static_cast<size_t>(graph.value_count()));  // by value
  const std::vector<NodeId> order = graph.order();
  Rewrite rewrite(graph);
  for (const NodeId id : order) {
    if (!is_permutation(graph.node(id))) continue;
    const ValueId last = graph.node(id).output();
    const ValueId input = graph.node(id).inputs[0];
    const Chain& before = chains[static_cast<size_t>(input)];
    const bool alone = before.first == kNone;
    Chain chain{alone ? input : before.first, permutation_of(graph, graph.node(id))};
    if (!alone) {
      for (int64_t& dim : chain.dims) dim = before.dims[static_cast<size_t>(dim)];
    }
    const Value& first = graph.value(chain.first);
    if (std::is_sorted(chain.dims.begin(), chain.dims.end()) && !first.read_as &&
        first.spec == graph.value(last).spec) {
      rewrite.replace(last, chain.first);
    } else if (!alone && is_needed(graph, users, last)) {
      rewrite.replace_node(
          id, {.op = Op::permute, .inputs = {chain.first}, .attributes = {{"dims", chain.dims}}});
    }
    chains[static_cast<size_t>(last)] = std::move(chain);
  }
  rewrite.apply();
  graph.remove_dead();
}

}  // namespace lathe
