#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "executors/cpu/code_graph.h"
#include "graph/fixed_encodings.h"
#include "graph/text.h"

// Random graphs of the operator table. Codes must equal the reference executor's; where there is an
// exponential or a float32 sum inside, they may be one code apart, and only movement follows.

namespace lathe {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed), graph_(GraphRole::prefill, 4, 16) {}

  Graph make() {
    for (int64_t i = 0, count = 1 + below(3); i < count; ++i) {
      const Encoding encoding = random_encoding();
      const ValueId id = graph_.add_input("x" + std::to_string(i), encoding.dtype, random_shape());
      graph_.set_value_type(id, encoding.dtype, encoding);
      exact_.push_back(id);
    }
    for (int64_t i = 0, count = 3 + below(14); i < count; ++i) add_node();
    const auto values = all();
    for (int64_t i = 0, count = 1 + below(5); i < count; ++i) {
      graph_.add_output("y" + std::to_string(i), values[pick(values.size())]);
    }
    graph_.add_output("last", values.back());
    return std::move(graph_);
  }

  /// Values that may be one code from the reference's; the others are equal to them.
  const std::vector<ValueId>& close() const { return close_; }

 private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  size_t pick(size_t count) { return static_cast<size_t>(below(static_cast<int64_t>(count))); }
  const Value& value(ValueId id) const { return graph_.value(id); }
  int64_t rank(ValueId id) const { return static_cast<int64_t>(value(id).shape.size()); }

  std::vector<ValueId> all() const {
    std::vector<ValueId> values = exact_;
    values.insert(values.end(), close_.begin(), close_.end());
    std::sort(values.begin(), values.end());
    return values;
  }

  Shape random_shape() {
    Shape shape(1 + pick(4));
    for (int64_t& size : shape) size = below(8) == 0 ? 1 : 1 + below(6);
    if (below(4) == 0) shape.front() = 1;
    if (below(6) == 0) shape.back() = 33;
    return shape;
  }

  Encoding random_encoding() {
    const bool wide = below(4) != 0;
    const float scale = static_cast<float>(1 + below(1000)) * (wide ? 3e-7f : 8e-5f);
    return {wide ? DType::u16 : DType::u8,
            {scale},
            static_cast<int32_t>(below(wide ? 65536 : 256)),
            -1};
  }

  ValueId append(Op op, std::vector<ValueId> inputs, Attributes attributes,
                 const Encoding& encoding, bool exact) {
    const ValueId id = graph_.append({op, std::move(inputs), std::move(attributes)});
    graph_.set_value_type(id, encoding.dtype, encoding);
    (exact ? exact_ : close_).push_back(id);
    return id;
  }

  void add_node() {
    if (below(2) == 0) {
      const std::vector<ValueId> values = all();
      move(values[pick(values.size())]);
    } else {
      compute(exact_[pick(exact_.size())]);
    }
  }

  /// Nothing with more than 1,000 elements grows, so that graphs stay small.
  void move(ValueId x) {
    const Shape& shape = value(x).shape;
    const bool exact = std::find(exact_.begin(), exact_.end(), x) != exact_.end();
    const auto add = [&](Op op, Attributes attributes, std::vector<ValueId> inputs = {}) {
      if (inputs.empty()) inputs = {x};
      append(op, std::move(inputs), std::move(attributes), Encoding(*value(x).encoding), exact);
    };
    const int64_t dim = rank(x) == 0 ? 0 : below(rank(x));
    switch (below(10)) {
      case 0:
        return add(Op::alias, {});
      case 1:
        return add(below(2) == 0 ? Op::view : Op::reshape, {{"sizes", random_sizes(shape)}});
      case 2:
      case 3:
        if (rank(x) < 2) return;
        return add(Op::transpose, {{"dim0", dim}, {"dim1", below(rank(x)) - rank(x)}});
      case 4: {
        if (rank(x) == 0) return;
        const int64_t size = shape[static_cast<size_t>(dim)];
        const int64_t start = below(size);
        return add(Op::slice,
                   {{"dim", dim}, {"start", start}, {"end", start + 1 + below(size - start)}});
      }
      case 5:
        if (rank(x) > 5) return;
        return add(Op::unsqueeze, {{"dim", below(rank(x) + 1)}});
      case 6: {
        Shape sizes = shape;
        for (int64_t& size : sizes) {
          if (size == 1 && elements(sizes) < 1000) size = 1 + below(3);
        }
        if (sizes.size() < 5 && elements(sizes) < 1000) sizes.insert(sizes.begin(), 1 + below(2));
        return add(Op::expand, {{"sizes", sizes}});
      }
      case 7:
        if (rank(x) < 2) return;
        return add(Op::select, {{"dim", dim}, {"index", below(shape[static_cast<size_t>(dim)])}});
      case 8: {
        Shape dims(shape.size());
        std::iota(dims.begin(), dims.end(), int64_t{0});
        std::shuffle(dims.begin(), dims.end(), random_);
        return add(Op::permute, {{"dims", dims}});
      }
      default:
        if (rank(x) == 0 || elements(shape) > 1000) return;
        return add(Op::cat, {{"dim", dim}}, {x, x});
    }
  }

  Shape random_sizes(const Shape& shape) {
    Shape sizes = shape;
    if (below(2) == 0 && !sizes.empty()) {  // join two, or all
      const size_t at = pick(sizes.size());
      if (at + 1 < sizes.size()) {
        sizes[at] *= sizes[at + 1];
        sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        return sizes;
      }
      return {-1};
    }
    for (size_t at = 0; at < sizes.size() && sizes.size() < 6; ++at) {  // split one
      for (int64_t factor = 2; factor < sizes[at]; ++factor) {
        if (sizes[at] % factor != 0) continue;
        sizes[at] /= factor;
        sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), factor);
        return sizes;
      }
    }
    return sizes;
  }

  /// Another exact value of the same shape, or of the last dimension alone, or the value itself.
  ValueId partner(ValueId x) {
    std::vector<ValueId> fitting;
    for (const ValueId id : exact_) {
      if (value(id).shape == value(x).shape) fitting.push_back(id);
    }
    if (below(5) == 0) return constant(value(x).shape);
    if (below(5) == 0 && rank(x) > 0) return constant({value(x).shape.back()});
    return fitting[pick(fitting.size())];
  }

  ValueId constant(Shape shape) {
    const Encoding encoding = random_encoding();
    const ValueId id =
        graph_.add_constant("c" + std::to_string(graph_.value_count()), encoding.dtype,
                            std::move(shape), std::make_shared<const Constant>());
    graph_.set_value_type(id, encoding.dtype, encoding);
    return id;
  }

  ValueId weight(Shape shape) {
    const int64_t channels = shape[0];
    const ValueId id = graph_.add_constant("w" + std::to_string(graph_.value_count()), DType::i8,
                                           std::move(shape), std::make_shared<const Constant>());
    const bool per_channel = below(2) == 0;
    graph_.set_value_type(
        id, DType::i8,
        Encoding{DType::i8,
                 std::vector<float>(static_cast<size_t>(per_channel ? channels : 1), 0.01f), 0,
                 per_channel ? 0 : -1});
    return id;
  }

  void compute(ValueId x) {
    const bool rows = rank(x) > 0;
    switch (below(18)) {
      case 0:
        append(Op::add, {x, partner(x)}, {}, random_encoding(), true);
        return;
      case 1:
        append(Op::mul, {x, partner(x)}, {}, random_encoding(), true);
        return;
      case 2:
        append(Op::mul, {x}, {{"other", static_cast<double>(below(100)) / 16.0 - 3.0}},
               random_encoding(), true);
        return;
      case 3:
        append(Op::neg, {x}, {}, random_encoding(), true);
        return;
      case 4:
      case 5:
        append(Op::requantize, {x}, {}, random_encoding(), true);
        return;
      case 6:
        append(Op::silu, {x}, {}, random_encoding(), false);
        return;
      case 7:
        if (rows) append(Op::softmax, {x}, {{"dim", int64_t{-1}}}, unit_encoding(), false);
        return;
      case 8:
        if (rows) {
          append(Op::rms_norm, {x, constant({value(x).shape.back()})}, {{"eps", 1e-5}},
                 random_encoding(), false);
        }
        return;
      case 9:
        if (rows) {
          append(Op::linear, {x, weight({1 + below(40), value(x).shape.back()})}, {},
                 random_encoding(), true);
        }
        return;
      case 10:
        append(Op::sub, {x, partner(x)}, {}, random_encoding(), true);
        return;
      case 11:
        append(Op::sigmoid, {x}, {}, unit_encoding(), false);
        return;
      case 12:
        if (rows && (value(x).shape.back() & (value(x).shape.back() - 1)) == 0) {
          append(Op::hadamard, {x}, {}, random_encoding(), true);
        }
        return;
      case 13:
        if (rank(x) == 4) {
          append(Op::conv2d, {x, weight({1 + below(40), value(x).shape[1], 1, 1})}, {},
                 random_encoding(), true);
        }
        return;
      case 14:
        append(Op::div, {x}, {{"other", static_cast<double>(below(100)) / 16.0 - 3.03}},
               random_encoding(), true);
        return;
      case 15:
        append(Op::gelu, {x}, {{"approximate", std::string("tanh")}}, random_encoding(), false);
        return;
      case 16:
        append(Op::tanh, {x}, {}, random_encoding(), false);
        return;
      default: {
        if (rank(x) < 2) return;
        const ValueId turned =
            append(Op::transpose, {x}, {{"dim0", int64_t{-2}}, {"dim1", int64_t{-1}}},
                   Encoding(*value(x).encoding), true);
        append(Op::matmul, {x, turned}, {}, random_encoding(), true);
      }
    }
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> exact_;  // as the reference has them
  std::vector<ValueId> close_;  // at most one code from it
};

TEST(CpuRandomGraphs, GiveTheCodesOfTheReference) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    RandomGraph random(seed);
    CodeGraph graph(random.make(), seed);
    const Results expected = graph.run_reference();
    const Results found = run_everywhere(graph);
    for (const GraphOutput& output : graph.graph().outputs()) {
      const std::vector<ValueId>& close = random.close();
      const bool exact = std::find(close.begin(), close.end(), output.value) == close.end();
      ASSERT_LE(code_difference(graph.graph(), output.name, found, expected), exact ? 0 : 1)
          << output.name << " of seed " << seed << "\n"
          << print_graph(graph.graph());
    }
  }
}

}  // namespace
}  // namespace lathe
