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

#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/head_rotation.h"
#include "graph/rewrite.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "support/error.h"

namespace lathe {
namespace {

/// An input of a node.
struct Place {
  NodeId reader = kNone;
  size_t input = 0;
};

bool swaps_last_two(const Graph& graph, const Node& node) {
  if (node.op != Op::transpose) return false;
  const std::vector<int64_t> dims = permutation_of(graph, node);
  return dims.size() >= 2 && dims.back() + 1 == std::ssize(dims) - 1;
}

/// The heads that `value` repeats for grouped queries, or kNone.
ValueId repeated(const Graph& graph, ValueId value) {
  const Node* reshape = producer_if(graph, value, {Op::reshape, Op::view});
  const Node* expand =
      reshape == nullptr ? nullptr : producer_if(graph, reshape->inputs[0], {Op::expand});
  const Node* unsqueeze =
      expand == nullptr ? nullptr : producer_if(graph, expand->inputs[0], {Op::unsqueeze});
  return unsqueeze == nullptr ? kNone : unsqueeze->inputs[0];
}

/// The input through which fresh keys join the past, or nothing where `node` does not do that.
std::optional<size_t> fresh_input(const Graph& graph, const Node& node) {
  if (node.op == Op::index_copy_) return 2;
  if (node.op != Op::cat || node.inputs.size() != 2) return std::nullopt;
  const Value& past = graph.value(node.inputs[0]);
  return past.producer == kNone && !past.is_constant() ? std::optional<size_t>(1) : std::nullopt;
}

class Rotation {
 public:
  explicit Rotation(Graph& graph) : graph_(graph), rewrite_(graph) {}

  void run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      const Node& mix = graph_.node(id);
      if (mix.op != Op::matmul) continue;
      const Node* softmax = producer_if(graph_, mix.inputs[0], {Op::softmax});
      if (softmax == nullptr) continue;
      const Node* scores = scores_behind(softmax->inputs[0]);
      if (scores == nullptr) refuse(mix);
      rotate(*scores);
    }
    rewrite_.apply();
  }

 private:
  [[noreturn]] static void refuse(const Node& node) {
    fail({.what = "queries and keys of this attention were not found, so they cannot be rotated",
          .where = "pass r3, " + node.module,
          .advice = "leave r3 out for this model"});
  }

  /// The product of queries and keys, behind scaling and mask.
  const Node* scores_behind(ValueId value) const {
    const Node* node = producer_if(
        graph_, value,
        {Op::matmul, Op::add, Op::sub, Op::mul, Op::div, Op::tanh, Op::where, Op::requantize});
    if (node == nullptr || node->op == Op::matmul) return node;
    for (const ValueId input : node->inputs) {
      if (const Node* scores = scores_behind(input)) return scores;
    }
    return nullptr;
  }

  /// Where the fresh keys [1, Hkv, AR, D] are read on their way to the scores.
  Place find_keys(const Node& scores) const {
    Place place{scores.id, 1};
    ValueId keys = scores.inputs[1];
    bool transposed = false;
    bool joined = false;  // with the past
    while (const Node* node = graph_.producer(keys)) {
      const std::optional<size_t> fresh = joined ? std::nullopt : fresh_input(graph_, *node);
      if (fresh) {
        joined = true;
        place = {node->id, *fresh};
        keys = node->inputs[*fresh];
      } else if (!transposed && swaps_last_two(graph_, *node)) {
        transposed = true;
        place = {node->id, 0};
        keys = node->inputs[0];
      } else if (const ValueId heads = repeated(graph_, keys); heads != kNone) {
        keys = heads;
      } else {
        break;
      }
    }
    if (!transposed) refuse(scores);
    return place;
  }

  void rotate(const Node& scores) {
    const Place keys = find_keys(scores);
    const Place queries{scores.id, 0};
    const ValueId key = graph_.node(keys.reader).inputs[keys.input];
    const ValueId query = scores.inputs[0];
    if (graph_.value(key).shape.back() != graph_.value(query).shape.back() ||
        graph_.value(key).encoding) {
      refuse(scores);
    }
    rotate_input(keys);
    rotate_input(queries);
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
