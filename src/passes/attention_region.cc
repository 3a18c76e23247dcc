#include "passes/attention_region.h"

#include <algorithm>

namespace lathe {
namespace {

/// Dimension `axis` of what a transpose or permute gives, as a dimension of its input.
size_t axis_before(const Graph& graph, const Node& node, size_t axis) {
  return static_cast<size_t>(permutation_of(graph, node)[axis]);
}

/// Types values backwards from the end of an attention.
class Recognizer {
 public:
  Recognizer(const Graph& graph, const Users& users) : graph_(graph), users_(users) {}

  std::optional<AttentionRegion> run(const Node& mix) {
    const Shape& shape = graph_.value(mix.output()).shape;
    if (shape.size() != 4 || shape[0] != 1 || shape[1] < 2 || !find_end(mix)) return std::nullopt;
    region_.mix = mix.id;
    const bool typed = type(graph_.node(region_.merge).inputs[0], {1, shape[1]});
    const bool has_queries = region_.query.product != kNone || !region_.made_together.empty();
    if (!typed || !has_queries) return std::nullopt;
    return std::move(region_);
  }

 private:
  bool find_end(const Node& mix) {
    ValueId end = mix.output();
    if (const Node* requantize = only_reader(graph_, users_, end, Op::requantize)) {
      end = requantize->output();
    }
    const Node* merge = only_reader(graph_, users_, end, Op::transpose);
    if (merge == nullptr || axis_before(graph_, *merge, 2) != 1) return false;
    const Node* joined = only_reader(graph_, users_, merge->output(), Op::reshape);
    if (joined == nullptr) return false;
    region_.merge = merge->id;
    region_.joined = joined->id;
    return true;
  }

  /// Whether `value` holds heads along `axis` and so does, somewhere, all that it is made of.
  bool type(ValueId value, HeadAxis axis) {
    // One head has nothing to be cut: those who read it share it.
    if (axis.heads == 1) return true;
    const Shape& shape = graph_.value(value).shape;
    if (axis.axis >= shape.size() || shape[axis.axis] != axis.heads) return false;
    const auto [place, added] = region_.heads.emplace(value, axis);
    if (!added) return place->second == axis;
    const Node* node = graph_.producer(value);
    if (node == nullptr) return !graph_.value(value).is_constant();
    return type_inputs(*node, axis);
  }

  bool type_inputs(const Node& node, HeadAxis axis) {
    const size_t rank = graph_.value(node.output()).shape.size();
    const bool is_last = axis.axis + 1 == rank;
    switch (node.op) {
      case Op::add:
      case Op::div:
      case Op::gelu:
      case Op::mul:
      case Op::neg:
      case Op::requantize:
      case Op::sigmoid:
      case Op::silu:
      case Op::sub:
      case Op::tanh:
      case Op::where:
        return type_operands(node, axis);
      case Op::masked_softmax:
        return !is_last && type_operands(node, axis);
      case Op::hadamard:
      case Op::linear:
      case Op::rms_norm:
      case Op::softmax:
        return !is_last && type(node.inputs[0], axis);
      case Op::conv2d:
        return axis.axis >= 2 && type(node.inputs[0], axis);
      case Op::slice:
      case Op::cat:
        return dimension_of(graph_, node) != axis.axis && type_operands(node, axis);
      case Op::permute:
      case Op::transpose:
        return type_turned(node, axis);
      case Op::reshape:
        return type_repeated(node, axis);
      case Op::matmul:
        return axis.axis + 2 < rank && type_product(node, axis);
      default:
        return false;
    }
  }

  /// Operands broadcast: one that has a single element, or nothing, along the axis is shared.
  bool type_operands(const Node& node, HeadAxis axis) {
    const size_t rank = graph_.value(node.output()).shape.size();
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      const Shape& shape = graph_.value(input).shape;
      if (axis.axis + shape.size() < rank) return true;
      const size_t own = axis.axis + shape.size() - rank;
      return shape[own] == 1 || type(input, {own, axis.heads});
    });
  }

  bool type_product(const Node& node, HeadAxis axis) {
    if (node.id == region_.mix) {
      if (!is_softmax(node.inputs[0]) || !type(node.inputs[0], axis)) return false;
      return type_from(region_.value, node.inputs[1], axis);
    }
    if (region_.scores != kNone) return false;
    region_.scores = node.id;
    return type_from(region_.query, node.inputs[0], axis) &&
           type_from(region_.key, node.inputs[1], axis);
  }

  bool is_softmax(ValueId value) const {
    const Node* requantize = producer_if(graph_, value, {Op::requantize});
    return producer_if(graph_, requantize == nullptr ? value : requantize->inputs[0],
                       {Op::softmax, Op::masked_softmax}) != nullptr;
  }

  /// As type(); the projection at the beginning is `projection`.
  bool type_from(HeadProjection& projection, ValueId value, HeadAxis axis) {
    projection_ = &projection;
    return type(value, axis);
  }

  /// [1, H, ...], where H / Hkv heads side by side are one and the same:
  /// unsqueeze [1, Hkv, 1, ...] -> expand [1, Hkv, G, ...] -> reshape.
  bool type_repeated(const Node& node, HeadAxis axis) {
    const Node* expand = producer_if(graph_, node.inputs[0], {Op::expand});
    const Node* unsqueeze =
        expand == nullptr ? nullptr : producer_if(graph_, expand->inputs[0], {Op::unsqueeze});
    if (unsqueeze == nullptr || axis.axis != 1) return false;
    const ValueId heads = unsqueeze->inputs[0];
    Shape shape = graph_.value(heads).shape;
    if (shape.size() != 4) return false;
    const int64_t own = shape[1];
    shape.insert(shape.begin() + 2, axis.heads / own);
    if (axis.heads % own != 0 || graph_.value(expand->output()).shape != shape ||
        graph_.value(unsqueeze->output()).shape != Shape{shape[0], own, 1, shape[3], shape[4]}) {
      return false;
    }
    region_.repeats.emplace(node.output(), heads);
    return type(heads, {1, own});
  }

  /// Where a permutation makes heads of [1, AR, h, D], there is a projection behind it, or a norm
  /// over all heads.
  bool type_turned(const Node& node, HeadAxis axis) {
    const HeadAxis before{axis_before(graph_, node, axis.axis), axis.heads};
    const Node* split = producer_if(graph_, node.inputs[0], {Op::reshape, Op::view});
    const bool makes_heads = axis.axis == 1 && before.axis == 2 && split != nullptr;
    if (!makes_heads) return type(node.inputs[0], before);
    return match_norm(node, *split) || match_projection(node, *split);
  }

  bool match_norm(const Node& turn, const Node& split) {
    const Node* norm = producer_if(graph_, split.inputs[0], {Op::rms_norm});
    if (norm == nullptr) return false;
    const Shape& rows = graph_.value(norm->output()).shape;   // [1, AR, h * D]
    const Shape& heads = graph_.value(split.output()).shape;  // [1, AR, h, D]
    if (rows.size() != 3 || heads != Shape{1, rows[1], heads[2], rows[2] / heads[2]}) return false;
    region_.made_together.insert(turn.output());
    return true;
  }

  bool match_projection(const Node& turn, const Node& split) {
    const Node* permute = producer_if(graph_, split.inputs[0], {Op::permute});
    if (permute == nullptr || !is_permute(*permute, {0, 3, 1, 2})) return false;
    const Node* requantize = producer_if(graph_, permute->inputs[0], {Op::requantize});
    const ValueId made = requantize == nullptr ? permute->inputs[0] : requantize->inputs[0];
    const Node* product = producer_if(graph_, made, {Op::conv2d});
    if (product == nullptr || projection_->product != kNone) return false;
    const Shape& channels = graph_.value(made).shape;         // [1, h * D, 1, AR]
    const Shape& heads = graph_.value(split.output()).shape;  // [1, AR, h, D]
    const bool fits = heads.size() == 4 && channels[2] == 1 &&
                      heads == Shape{1, channels[3], heads[2], channels[1] / heads[2]};
    const auto is_stored = [&](ValueId id) { return graph_.value(id).is_constant(); };
    if (!fits || !std::all_of(product->inputs.begin() + 1, product->inputs.end(), is_stored)) {
      return false;
    }
    *projection_ = {product->id, requantize == nullptr ? kNone : requantize->id, turn.id, heads[2],
                    heads[3]};
    return true;
  }

  const Graph& graph_;
  const Users& users_;
  AttentionRegion region_;
  HeadProjection* projection_ = nullptr;  // which one the walk is going to
};

}  // namespace

std::optional<AttentionRegion> find_attention(const Graph& graph, const Users& users,
                                              const Node& mix) {
  return Recognizer(graph, users).run(mix);
}

}  // namespace lathe
