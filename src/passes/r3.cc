// Queries and keys of an attention, rotated by the same orthogonal matrix, have the same products
// ("R3" of SpinQuant, Liu et al. 2024):
//
// Before:                                             After:
//   %kt = aten.transpose(%k) {dim0=2, dim1=3}           %hadamard = lathe.hadamard(%k)
//   %cat = aten.cat(%k_cache_0, %kt) {dim=3}            %kt = aten.transpose(%hadamard)
//   %s = aten.matmul(%q, %cat)                          %cat = aten.cat(%k_cache_0, %kt)
//   output k_new_0 = %kt                                %hadamard_1 = lathe.hadamard(%q)
//                                                       %s = aten.matmul(%hadamard_1, %cat)
//                                                       output k_new_0 = %kt
//
// The cache then holds rotated keys. Where the head dimension is no power of two, %hadamard is
// aten.linear(%k, %head_rotation) with a fixed matrix.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/head_rotation.h"
#include "graph/rewrite.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/score_operands.h"
#include "support/error.h"

namespace lathe {
namespace {

class Rotation {
 public:
  explicit Rotation(Graph& graph) : graph_(graph), rewrite_(graph) {}

  void run() {
    for (const AttentionScores& attention : find_attention_scores(graph_)) {
      if (!attention.operands) refuse(graph_.node(attention.mix));
      const Place& keys = attention.operands->keys;
      if (graph_.value(graph_.node(keys.reader).inputs[keys.input]).encoding) {
        refuse(graph_.node(attention.mix));
      }
      rotate_input(keys);
      rotate_input(attention.operands->queries);
    }
    rewrite_.apply();
  }

 private:
  [[noreturn]] static void refuse(const Node& node) {
    fail({.what = "queries and keys of this attention were not found, so they cannot be rotated",
          .where = "pass r3, " + node.module,
          .advice = "leave r3 out for this model"});
  }

  /// The reader of keys that several attentions share is rewritten once.
  void rotate_input(const Place& place) {
    if (!rotated_.emplace(place.reader, place.input).second) return;
    std::vector<ValueId> inputs = graph_.node(place.reader).inputs;
    ValueId& input = inputs[place.input];
    const ValueId plain = input;
    const int64_t width = graph_.value(plain).shape.back();
    NodeSpec spec{
        .op = Op::hadamard, .inputs = {plain}, .module = graph_.node(place.reader).module};
    if ((width & (width - 1)) != 0) {
      spec.op = Op::linear;
      spec.inputs.push_back(matrix(width));
    }
    input = rewrite_.insert_before(place.reader, std::move(spec));
    take_type(graph_, input, plain);
    graph_.set_inputs(place.reader, std::move(inputs));
  }

  /// One value for all heads and layers of a width.
  ValueId matrix(int64_t width) {
    const auto [place, added] = matrices_.emplace(width, kNone);
    if (added) {
      place->second =
          graph_.add_constant("head_rotation", DType::f32, {width, width}, head_rotation(width));
    }
    return place->second;
  }

  Graph& graph_;
  Rewrite rewrite_;
  std::set<std::pair<NodeId, size_t>> rotated_;
  std::map<int64_t, ValueId> matrices_;  // by head dimension
};

}  // namespace

void r3(Graph& graph, const PassOptions& options) {
  if (options.r3) Rotation(graph).run();
}

}  // namespace lathe
