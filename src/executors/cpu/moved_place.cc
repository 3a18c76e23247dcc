#include "executors/cpu/moved_place.h"

#include <algorithm>
#include <utility>

#include "executors/cpu/values.h"
#include "graph/operators.h"

namespace lathe {

bool only_changes_strides(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::alias:
    case Op::dropout:
    case Op::expand:
    case Op::permute:
    case Op::reshape:
    case Op::select:
    case Op::slice:
    case Op::transpose:
    case Op::unsqueeze:
    case Op::view:
      return true;
    case Op::to:
      return graph.value(node.inputs[0]).dtype == graph.value(node.output()).dtype;
    default:
      return false;
  }
}

std::optional<Place> moved_place(const Graph& graph, const Node& node, const Place& input) {
  const Shape& from = graph.value(node.inputs[0]).shape;
  const Shape& to = graph.value(node.output()).shape;
  Place where = input;
  const auto begin = where.strides.begin();
  const auto at = [&](const char* attribute, size_t rank) {
    return static_cast<std::ptrdiff_t>(dimension(node, attribute, rank));
  };
  switch (node.op) {
    case Op::view:
    case Op::reshape: {
      std::optional<Shape> strides = reshape_strides(from, where.strides, to);
      if (!strides) return std::nullopt;
      where.strides = std::move(*strides);
      break;
    }
    case Op::unsqueeze:
      where.strides.insert(begin + at("dim", to.size()), 0);
      break;
    case Op::transpose:
      std::iter_swap(begin + at("dim0", from.size()), begin + at("dim1", from.size()));
      break;
    case Op::permute: {
      const std::vector<int64_t>& dims = node.attributes.integers("dims");
      std::transform(dims.begin(), dims.end(), begin,
                     [&](int64_t dim) { return input.strides[static_cast<size_t>(dim)]; });
      break;
    }
    case Op::slice: {
      int64_t& stride = begin[at("dim", from.size())];
      where.offset += stride * node.attributes.integer("start");
      stride *= slice_step(node);
      break;
    }
    case Op::select: {
      const auto dim = begin + at("dim", from.size());
      where.offset += *dim * node.attributes.integer("index");
      where.strides.erase(dim);
      break;
    }
    case Op::expand:
      where.strides = broadcast_strides(from, where.strides, to);
      break;
    default:
      break;
  }
  return where;
}

}  // namespace lathe
