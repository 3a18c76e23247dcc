#include "executors/float/movement.h"

#include <utility>

#include "executors/float/parallel_loop.h"
#include "executors/reference/strided_copy.h"
#include "graph/operators.h"

namespace lathe {
namespace {

/// A dimension that the operator's rule has checked, with Python's meaning of negative numbers.
size_t dimension(const Node& node, std::string_view attribute, size_t rank) {
  const int64_t dim = node.attributes.integer(attribute);
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

void move_start(TensorView& view, size_t dim, int64_t index) {
  view.data += index * view.strides[dim] * (bits_of(view.dtype) / 8);
}

void copy(const TensorView& from, const TensorView& to, ThreadPool& threads) {
  const StridedCopy copy(from, to);
  const int64_t width = copy.row_bytes() / (bits_of(to.dtype) / 8);
  threads.split(copy.rows(), rows_per_task(width),
                [&](int64_t begin, int64_t end) { copy.copy_rows(begin, end); });
}

/// The input as a view with the output's shape.
TensorView view_as_output(const Node& node, TensorView view, const Shape& shape) {
  const size_t rank = view.shape.size();
  switch (node.op) {
    case Op::expand: {
      const size_t lead = shape.size() - rank;
      Shape strides(shape.size(), 0);
      for (size_t d = 0; d < rank; ++d) {
        if (view.shape[d] != 1) strides[lead + d] = view.strides[d];
      }
      view.strides = std::move(strides);
      break;
    }
    case Op::permute: {
      const Shape from = view.strides;
      view.strides.clear();
      for (const int64_t dim : node.attributes.integers("dims")) {
        view.strides.push_back(from[static_cast<size_t>(dim)]);
      }
      break;
    }
    case Op::select: {
      const size_t dim = dimension(node, "dim", rank);
      move_start(view, dim, node.attributes.integer("index"));
      view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(dim));
      break;
    }
    case Op::slice: {
      const size_t dim = dimension(node, "dim", rank);
      move_start(view, dim, node.attributes.integer("start"));
      view.strides[dim] *= slice_step(node);
      break;
    }
    default:
      std::swap(view.strides[dimension(node, "dim0", rank)],
                view.strides[dimension(node, "dim1", rank)]);
  }
  view.shape = shape;
  return view;
}

}  // namespace

void concatenate(const Node& node, std::span<const TensorView> inputs, const TensorView& output,
                 ThreadPool& threads) {
  const size_t dim = dimension(node, "dim", output.shape.size());
  TensorView part = output;
  for (const TensorView& input : inputs) {
    part.shape = input.shape;
    copy(input, part, threads);
    move_start(part, dim, input.shape[dim]);
  }
}

void gather(const Node& node, const TensorView& input, const TensorView& output,
            ThreadPool& threads) {
  copy(view_as_output(node, input, output.shape), output, threads);
}

}  // namespace lathe
