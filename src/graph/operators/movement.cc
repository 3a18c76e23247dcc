// Operators whose output holds its input's numbers in another order or shape. Their float rules
// move elements of any type, so the same rules move codes in integer graphs.

#include <algorithm>
#include <cstring>

#include "graph/operators/rules.h"

namespace lathe::rules {
namespace {

using Types = std::span<const TensorType>;
using Views = std::span<const TensorView>;

bool only_first(int index) { return index == 0; }
bool every(int) { return true; }
bool first_and_source(int index) { return index == 0 || index == 2; }

size_t element_bytes(const TensorView& view) {
  return static_cast<size_t>(bits_of(view.dtype)) / 8;
}

void copy_dense(const TensorView& from, const TensorView& to) {
  std::memcpy(to.data, from.data, static_cast<size_t>(byte_size(to.dtype, to.shape)));
}

/// Fills `to` (dense) with elements of `from` read along `strides` from element `start` on.
void copy_strided(const TensorView& from, const Shape& strides, int64_t start,
                  const TensorView& to) {
  const size_t size = element_bytes(to);
  std::byte* out = to.data;
  const std::byte* in = from.data + start * static_cast<int64_t>(size);
  for_each<1>(to.shape, {strides}, [&](int64_t offset) {
    std::memcpy(out, in + offset * static_cast<int64_t>(size), size);
    out += size;
  });
}

std::vector<TensorType> same_type(const Node&, Types inputs) { return {inputs[0]}; }
void copy_input(const Node&, Views in, Views out) { copy_dense(in[0], out[0]); }

// --- cat {dim}

std::vector<TensorType> infer_cat(const Node& node, Types inputs) {
  TensorType type = inputs[0];
  const size_t dim = dimension(node, "dim", type.shape.size());
  for (size_t i = 1; i < inputs.size(); ++i) {
    Shape expected = type.shape;
    if (inputs[i].shape.size() == expected.size()) expected[dim] = inputs[i].shape[dim];
    if (inputs[i].shape != expected) {
      refuse(node, "inputs differ outside the concatenated dimension", to_string(expected),
             to_string(inputs[i].shape));
    }
    type.shape[dim] += inputs[i].shape[dim];
  }
  return {type};
}

void evaluate_cat(const Node& node, Views in, Views out) {
  const Shape& shape = out[0].shape;
  const size_t dim = dimension(node, "dim", shape.size());
  const int64_t outer = elements(Shape(shape.begin(), shape.begin() + static_cast<int64_t>(dim)));
  std::byte* to = out[0].data;
  for (int64_t i = 0; i < outer; ++i) {
    for (const TensorView& view : in) {
      const size_t run = outer == 0 ? 0
                                    : static_cast<size_t>(byte_size(view.dtype, view.shape)) /
                                          static_cast<size_t>(outer);
      if (run == 0) continue;
      std::memcpy(to, view.data + static_cast<size_t>(i) * run, run);
      to += run;
    }
  }
}

// --- chunk {chunks, dim}: the parts of a list, held by one tensor along a first dimension of its
// own;
//     getitem {index}: one of them

std::vector<TensorType> infer_chunk(const Node& node, Types inputs) {
  TensorType type = inputs[0];
  const size_t dim = dimension(node, "dim", type.shape.size());
  const int64_t chunks = node.attributes.integer("chunks");
  if (chunks < 1 || type.shape[dim] % chunks != 0) {
    refuse(node, "the parts are not of one size", {}, to_string(inputs[0].shape));
  }
  type.shape[dim] /= chunks;
  type.shape.insert(type.shape.begin(), chunks);
  return {type};
}

void evaluate_chunk(const Node& node, Views in, Views out) {
  Shape strides = dense_strides(in[0].shape);
  const size_t dim = dimension(node, "dim", strides.size());
  strides.insert(strides.begin(), strides[dim] * out[0].shape[dim + 1]);
  copy_strided(in[0], strides, 0, out[0]);
}

std::vector<TensorType> infer_getitem(const Node& node, Types inputs) {
  const int64_t index = node.attributes.integer("index");
  if (inputs[0].shape.empty() || index < 0 || index >= inputs[0].shape[0]) {
    refuse(node, "index out of range", to_string(inputs[0].shape), std::to_string(index));
  }
  TensorType type = inputs[0];
  type.shape.erase(type.shape.begin());
  return {type};
}

void evaluate_getitem(const Node& node, Views in, Views out) {
  const int64_t start = elements(out[0].shape) * node.attributes.integer("index");
  copy_strided(in[0], dense_strides(out[0].shape), start, out[0]);
}

// --- copy_(self, source): the value that self has afterwards, which is source.

void evaluate_copy(const Node&, Views in, Views out) { copy_dense(in[1], out[0]); }

// --- embedding(table [rows, width], ids [...]) -> [..., width]

std::vector<TensorType> infer_embedding(const Node& node, Types inputs) {
  if (inputs[0].shape.size() != 2) refuse(node, "the table is not a matrix");
  if (inputs[1].dtype != DType::i64 && inputs[1].dtype != DType::i32) {
    refuse(node, "ids are not integers", "i64 or i32", std::string(name_of(inputs[1].dtype)));
  }
  TensorType type{inputs[0].dtype, inputs[1].shape};
  type.shape.push_back(inputs[0].shape[1]);
  return {type};
}

void evaluate_embedding(const Node&, Views in, Views out) {
  const int64_t rows = in[0].shape[0];
  const size_t row_bytes = static_cast<size_t>(in[0].shape[1]) * element_bytes(in[0]);
  const int64_t count = elements(in[1].shape);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = in[1].dtype == DType::i64 ? in[1].as<int64_t>()[i] : in[1].as<int32_t>()[i];
    // Ids are checked where they enter; a wrong one must still not read outside the table.
    const int64_t row = std::clamp<int64_t>(id, 0, rows - 1);
    std::memcpy(out[0].data + static_cast<size_t>(i) * row_bytes,
                in[0].data + static_cast<size_t>(row) * row_bytes, row_bytes);
  }
}

// --- expand {sizes}; -1 keeps a size

std::vector<TensorType> infer_expand(const Node& node, Types inputs) {
  TensorType type{inputs[0].dtype, node.attributes.integers("sizes")};
  const Shape& from = inputs[0].shape;
  if (type.shape.size() < from.size()) {
    refuse(node, "fewer sizes than dimensions", to_string(from), to_string(type.shape));
  }
  const size_t lead = type.shape.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t& size = type.shape[lead + i];
    if (size == -1) size = from[i];
    if (size != from[i] && from[i] != 1) {
      refuse(node, "only dimensions of size 1 expand", to_string(from), to_string(type.shape));
    }
  }
  return {type};
}

void evaluate_expand(const Node&, Views in, Views out) {
  copy_strided(in[0], broadcast_strides(in[0].shape, out[0].shape), 0, out[0]);
}

// --- index_copy_(self, index [n], source) {dim}: self with rows `index` replaced by source

std::vector<TensorType> infer_index_copy(const Node& node, Types inputs) {
  const size_t dim = dimension(node, "dim", inputs[0].shape.size());
  Shape expected = inputs[0].shape;
  expected[dim] = inputs[1].shape.empty() ? 1 : inputs[1].shape[0];
  if (inputs[2].shape != expected) {
    refuse(node, "the source does not fit", to_string(expected), to_string(inputs[2].shape));
  }
  return {inputs[0]};
}

void evaluate_index_copy(const Node& node, Views in, Views out) {
  copy_dense(in[0], out[0]);
  const size_t dim = dimension(node, "dim", in[0].shape.size());
  const Shape to = dense_strides(out[0].shape);
  const size_t size = element_bytes(out[0]);
  const int64_t limit = out[0].shape[dim];
  std::vector<int64_t> index(in[2].shape.size(), 0);
  const int64_t count = elements(in[2].shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t at = d == dim ? in[1].as<int64_t>()[index[d]] : index[d];
      offset += std::clamp<int64_t>(at, 0, d == dim ? limit - 1 : at) * to[d];
    }
    std::memcpy(out[0].data + offset * static_cast<int64_t>(size),
                in[2].data + i * static_cast<int64_t>(size), size);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < in[2].shape[d]) break;
      index[d] = 0;
    }
  }
}

// --- permute {dims}: dimension i of the output is dimension dims[i] of the input

std::vector<TensorType> infer_permute(const Node& node, Types inputs) {
  const std::vector<int64_t>& dims = node.attributes.integers("dims");
  const Shape& from = inputs[0].shape;
  std::vector<bool> used(from.size(), false);
  TensorType type{inputs[0].dtype, {}};
  for (const int64_t dim : dims) {
    const bool fits = dim >= 0 && dim < static_cast<int64_t>(from.size());
    if (!fits || used[static_cast<size_t>(dim)]) {
      refuse(node, "dims are no order of the dimensions", to_string(from), to_string(dims));
    }
    used[static_cast<size_t>(dim)] = true;
    type.shape.push_back(from[static_cast<size_t>(dim)]);
  }
  if (dims.size() != from.size()) {
    refuse(node, "dims are no order of the dimensions", to_string(from), to_string(dims));
  }
  return {type};
}

void evaluate_permute(const Node& node, Views in, Views out) {
  const Shape dense = dense_strides(in[0].shape);
  Shape strides;
  for (const int64_t dim : node.attributes.integers("dims")) {
    strides.push_back(dense[static_cast<size_t>(dim)]);
  }
  copy_strided(in[0], strides, 0, out[0]);
}

// --- view, reshape {sizes}; one size may be -1

std::vector<TensorType> infer_reshape(const Node& node, Types inputs) {
  TensorType type{inputs[0].dtype, node.attributes.integers("sizes")};
  const int64_t total = elements(inputs[0].shape);
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& size : type.shape) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else {
      known *= size;
    }
  }
  if (open != nullptr && known > 0) *open = total / known;
  if (checked_elements(type.shape) != total) {
    refuse(node, "the new shape holds another number of elements", to_string(inputs[0].shape),
           to_string(type.shape));
  }
  return {type};
}

// --- select {dim, index}, slice {dim, start, end}, which may have a {step}

std::vector<TensorType> infer_select(const Node& node, Types inputs) {
  const size_t dim = dimension(node, "dim", inputs[0].shape.size());
  const int64_t index = node.attributes.integer("index");
  if (index < 0 || index >= inputs[0].shape[dim]) {
    refuse(node, "index out of range", to_string(inputs[0].shape), std::to_string(index));
  }
  TensorType type = inputs[0];
  type.shape.erase(type.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return {type};
}

void evaluate_select(const Node& node, Views in, Views out) {
  const size_t dim = dimension(node, "dim", in[0].shape.size());
  Shape strides = dense_strides(in[0].shape);
  const int64_t start = strides[dim] * node.attributes.integer("index");
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
  copy_strided(in[0], strides, start, out[0]);
}

std::vector<TensorType> infer_slice(const Node& node, Types inputs) {
  const size_t dim = dimension(node, "dim", inputs[0].shape.size());
  TensorType type = inputs[0];
  const int64_t size = type.shape[dim];
  const int64_t start = node.attributes.integer("start");
  const int64_t end = std::min(node.attributes.integer("end"), size);
  if (start < 0 || start > end) {
    refuse(node, "the range is empty or outside", to_string(inputs[0].shape),
           std::to_string(start) + ":" + std::to_string(end));
  }
  const int64_t step = slice_step(node);
  if (step < 1) refuse(node, "the step is not positive", {}, std::to_string(step));
  type.shape[dim] = (end - start + step - 1) / step;
  return {type};
}

void evaluate_slice(const Node& node, Views in, Views out) {
  const size_t dim = dimension(node, "dim", in[0].shape.size());
  Shape strides = dense_strides(in[0].shape);
  const int64_t start = strides[dim] * node.attributes.integer("start");
  strides[dim] *= slice_step(node);
  copy_strided(in[0], strides, start, out[0]);
}

// --- to {dtype}, type_as(x, like): an element type change, exact for the integers and booleans
// that graphs hold

std::vector<TensorType> infer_to(const Node& node, Types inputs) {
  return {{dtype_from_name(node.attributes.text("dtype"), "aten.to"), inputs[0].shape}};
}

std::vector<TensorType> infer_type_as(const Node&, Types inputs) {
  return {{inputs[1].dtype, inputs[0].shape}};
}

double number_at(const TensorView& view, int64_t i) {
  switch (view.dtype) {
    case DType::f32:
      return view.as<float>()[i];
    case DType::i64:
      return static_cast<double>(view.as<int64_t>()[i]);
    case DType::i32:
      return view.as<int32_t>()[i];
    default:
      return view.as<uint8_t>()[i];
  }
}

void evaluate_to(const Node&, Views in, Views out) {
  if (in[0].dtype == out[0].dtype) {
    copy_dense(in[0], out[0]);
    return;
  }
  const int64_t count = elements(in[0].shape);
  for (int64_t i = 0; i < count; ++i) {
    const double number = number_at(in[0], i);
    switch (out[0].dtype) {
      case DType::f32:
        out[0].as<float>()[i] = static_cast<float>(number);
        break;
      case DType::i64:
        out[0].as<int64_t>()[i] = static_cast<int64_t>(number);
        break;
      case DType::i32:
        out[0].as<int32_t>()[i] = static_cast<int32_t>(number);
        break;
      default:
        out[0].as<uint8_t>()[i] = number != 0.0 ? 1 : 0;
    }
  }
}

// --- transpose {dim0, dim1}, unsqueeze {dim}

std::vector<TensorType> infer_transpose(const Node& node, Types inputs) {
  TensorType type = inputs[0];
  std::swap(type.shape[dimension(node, "dim0", type.shape.size())],
            type.shape[dimension(node, "dim1", type.shape.size())]);
  return {type};
}

void evaluate_transpose(const Node& node, Views in, Views out) {
  Shape strides = dense_strides(in[0].shape);
  std::swap(strides[dimension(node, "dim0", strides.size())],
            strides[dimension(node, "dim1", strides.size())]);
  copy_strided(in[0], strides, 0, out[0]);
}

std::vector<TensorType> infer_unsqueeze(const Node& node, Types inputs) {
  TensorType type = inputs[0];
  const size_t dim = dimension(node, "dim", type.shape.size() + 1);
  type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  return {type};
}

constexpr auto kMoves = EncodingRule::moves_codes;
constexpr auto kNone = EncodingRule::none;

const OperatorRule kRules[] = {
    {Op::alias, "aten.alias", "alias", 1, 1, kMoves, only_first, same_type, copy_input},
    {Op::cat, "aten.cat", "cat", 1, -1, kMoves, every, infer_cat, evaluate_cat},
    {Op::chunk, "aten.chunk", "chunk", 1, 1, kMoves, only_first, infer_chunk, evaluate_chunk},
    {Op::copy_, "aten.copy_", "copy_", 2, 2, kNone, only_first, same_type, evaluate_copy},
    {Op::detach_, "aten.detach_", "detach_", 1, 1, kMoves, only_first, same_type, copy_input},
    {Op::dropout, "aten.dropout", "dropout", 1, 1, kMoves, only_first, same_type, copy_input},
    {Op::embedding, "aten.embedding", "embedding", 2, 2, kMoves, only_first, infer_embedding,
     evaluate_embedding},
    {Op::expand, "aten.expand", "expand", 1, 1, kMoves, only_first, infer_expand, evaluate_expand},
    {Op::getitem, "operator.getitem", "getitem", 1, 1, kMoves, only_first, infer_getitem,
     evaluate_getitem},
    {Op::index_copy_, "aten.index_copy_", "index_copy_", 3, 3, kMoves, first_and_source,
     infer_index_copy, evaluate_index_copy},
    {Op::lift_fresh_copy, "aten.lift_fresh_copy", "lift_fresh_copy", 1, 1, kMoves, only_first,
     same_type, copy_input},
    {Op::permute, "aten.permute", "permute", 1, 1, kMoves, only_first, infer_permute,
     evaluate_permute},
    {Op::reshape, "aten.reshape", "reshape", 1, 1, kMoves, only_first, infer_reshape, copy_input},
    {Op::select, "aten.select", "select", 1, 1, kMoves, only_first, infer_select, evaluate_select},
    {Op::slice, "aten.slice", "slice", 1, 1, kMoves, only_first, infer_slice, evaluate_slice},
    {Op::to, "aten.to", "to", 1, 1, kMoves, only_first, infer_to, evaluate_to},
    {Op::transpose, "aten.transpose", "transpose", 1, 1, kMoves, only_first, infer_transpose,
     evaluate_transpose},
    {Op::type_as, "aten.type_as", "type_as", 2, 2, kMoves, only_first, infer_type_as, evaluate_to},
    {Op::unsqueeze, "aten.unsqueeze", "unsqueeze", 1, 1, kMoves, only_first, infer_unsqueeze,
     copy_input},
    {Op::view, "aten.view", "view", 1, 1, kMoves, only_first, infer_reshape, copy_input},
};

}  // namespace

std::span<const OperatorRule> movement() { return kRules; }

}  // namespace lathe::rules
