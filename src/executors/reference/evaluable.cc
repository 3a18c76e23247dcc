#include "executors/reference/evaluable.h"

#include <algorithm>
#include <string>

#include "executors/reference/integer.h"
#include "graph/check_encoding.h"
#include "graph/operators.h"
#include "graph/stored_bytes.h"
#include "support/error.h"

namespace lathe {
namespace {

[[noreturn]] void refuse(std::string where, std::string what, std::string expected = {},
                         std::string found = {}) {
  fail({.what = std::move(what),
        .where = std::move(where),
        .expected = std::move(expected),
        .found = std::move(found)});
}

void check_constant(const Value& value) {
  const Constant& constant = *value.constant;
  if (constant.floats != nullptr) {
    if (value.dtype != DType::f32) {
      refuse(value.name, "a float constant has another type", "f32",
             std::string(name_of(value.dtype)));
    }
    return;
  }
  if (constant.bytes == nullptr) refuse(value.name, "a constant has no data");
  const int64_t bytes = stored_bytes(value);
  if (constant.byte_count != bytes) {
    refuse(value.name, "a constant has the wrong size", std::to_string(bytes) + " bytes",
           std::to_string(constant.byte_count) + " bytes");
  }
}

void check_value(const Value& value) {
  if (checked_elements(value.shape) < 0) {
    refuse(value.name, "a tensor has an impossible shape", {}, to_string(value.shape));
  }
  const bool weight = value.dtype == DType::i4 && value.is_constant();
  if (!weight &&
      (value.dtype == DType::i4 || value.dtype == DType::f16 || value.dtype == DType::bf16)) {
    refuse(value.name, "no executor computes on this type", {}, std::string(name_of(value.dtype)));
  }
  if (value.encoding) check_encoding(value);
  if (value.constant) check_constant(value);
}

/// Float32, or codes that stand for float32.
bool is_real(const Value& value) {
  if (!value.encoding) return value.dtype == DType::f32;
  return value.dtype == DType::u16 || value.dtype == DType::u8 || value.dtype == DType::i8;
}

bool is_condition(const Value& value) { return !value.encoding && value.dtype == DType::boolean; }

bool is_number(const Value& value) {
  return !value.encoding && (value.dtype == DType::i64 || value.dtype == DType::i32);
}

class NodeCheck {
 public:
  NodeCheck(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  void run() const {
    check_packed();
    check_rows();
    switch (node_.op) {
      case Op::alias:
      case Op::cat:
      case Op::chunk:
      case Op::copy_:
      case Op::detach_:
      case Op::dropout:
      case Op::embedding:
      case Op::expand:
      case Op::getitem:
      case Op::index_copy_:
      case Op::lift_fresh_copy:
      case Op::permute:
      case Op::reshape:
      case Op::select:
      case Op::slice:
      case Op::transpose:
      case Op::unsqueeze:
      case Op::view:
        return check_movement();
      case Op::to:
      case Op::type_as:
        return require(!has_codes() || input(0).dtype == output().dtype || is_number(input(0)),
                       "codes cannot become another type");
      case Op::arange:
        return require(output().dtype == DType::i64 && !has_codes(), "gives i64 only");
      case Op::add:
      case Op::add_:
      case Op::mul:
      case Op::sub:
        return require(all_real() || (all_numbers() && output().dtype == input(0).dtype),
                       kRealsOrIntegers);
      case Op::max:
        return require(inputs_real(0) || all_numbers(), kRealsOrIntegers);
      case Op::new_ones:
        return require(is_condition(output()), kConditions);
      case Op::and_:
        return require(is_condition(input(0)) && is_condition(input(1)) && is_condition(output()),
                       kConditions);
      case Op::gt:
      case Op::le:
        require(is_condition(output()), "gives booleans only");
        return require(inputs_real(0) || all_inputs_numbers(), kRealsOrIntegers);
      case Op::where:
        require(is_condition(input(0)), "the condition is not boolean");
        return require(inputs_real(1) && is_real(output()), kReals);
      case Op::conv2d:
      case Op::linear:
        return require(is_integer_product(graph_, node_) || all_real(), kReals);
      case Op::zeros:
      case Op::cos:
      case Op::div:
      case Op::gelu:
      case Op::mean:
      case Op::neg:
      case Op::pow:
      case Op::reciprocal:
      case Op::rsqrt:
      case Op::sigmoid:
      case Op::silu:
      case Op::sin:
      case Op::softmax:
      case Op::tanh:
      case Op::matmul:
      case Op::dequantize:
      case Op::hadamard:
      case Op::masked_softmax:
      case Op::quantize:
      case Op::requantize:
      case Op::rms_norm:
        return require(all_real(), kReals);
    }
  }

 private:
  static constexpr const char* kReals = "works on f32 or on codes with an encoding";
  static constexpr const char* kConditions = "works on booleans only";
  static constexpr const char* kRealsOrIntegers =
      "works on f32, on codes with an encoding, or on integers of one type";

  const Value& input(size_t index) const { return graph_.value(node_.inputs[index]); }
  const Value& output() const { return graph_.value(node_.output()); }

  void require(bool holds, const char* what) const {
    if (holds) return;
    std::string found;
    for (const ValueId id : node_.inputs) {
      found +=
          std::string(found.empty() ? "" : ", ") + std::string(name_of(graph_.value(id).dtype));
    }
    refuse(std::string(rule_of(node_.op).name) + " giving " + output().name, what, {},
           found + " -> " + std::string(name_of(output().dtype)));
  }

  bool has_codes() const {
    const auto coded = [&](ValueId id) { return graph_.value(id).encoding.has_value(); };
    return std::any_of(node_.inputs.begin(), node_.inputs.end(), coded) || coded(node_.output());
  }
  bool inputs_real(size_t from) const {
    return std::all_of(node_.inputs.begin() + static_cast<std::ptrdiff_t>(from), node_.inputs.end(),
                       [&](ValueId id) { return is_real(graph_.value(id)); });
  }
  bool all_real() const { return inputs_real(0) && is_real(output()); }
  bool all_inputs_numbers() const {
    return std::all_of(node_.inputs.begin(), node_.inputs.end(), [&](ValueId id) {
      return is_number(graph_.value(id)) && graph_.value(id).dtype == input(0).dtype;
    });
  }
  bool all_numbers() const { return all_inputs_numbers() && is_number(output()); }

  /// Rules divide by the length of a row, or read one row at least.
  void check_rows() const {
    switch (node_.op) {
      case Op::embedding:
        return require(elements(input(0).shape) > 0, "the table is empty");
      case Op::hadamard:
      case Op::masked_softmax:
      case Op::linear:
      case Op::matmul:
      case Op::mean:
      case Op::rms_norm:
      case Op::softmax:
        return require(!input(0).shape.empty() && input(0).shape.back() > 0,
                       "the rows of the input are empty");
      case Op::conv2d:
        return require(input(0).shape[1] > 0, "the input has no channels");
      default:
        return;
    }
  }

  /// Packed bytes mean something to an integer product only.
  void check_packed() const {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const bool packed = input(i).is_constant() && input(i).constant->layout == Layout::packed;
      require(!packed || (i == 1 && is_integer_product(graph_, node_)),
              "packed weights are for integer products only");
    }
  }

  void check_movement() const {
    const OperatorRule& rule = rule_of(node_.op);
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const bool moves = node_.op == Op::copy_ || rule.moves(static_cast<int>(i));
      require(!moves || input(i).dtype == output().dtype, "moves elements of one type");
    }
    if (node_.op == Op::copy_) {
      require(input(1).shape == output().shape, "the source has another shape");
    }
    if (node_.op == Op::index_copy_) {
      require(input(1).dtype == DType::i64, "the index is not i64");
      require(elements(input(1).shape) > 0, "the index is empty");
    }
  }

  const Graph& graph_;
  const Node& node_;
};

}  // namespace

void require_evaluable(const Graph& graph) {
  std::vector<bool> checked(static_cast<size_t>(graph.value_count()), false);
  const auto check = [&](ValueId id) {
    if (checked[static_cast<size_t>(id)]) return;
    checked[static_cast<size_t>(id)] = true;
    check_value(graph.value(id));
  };
  for (const ValueId id : graph.inputs()) check(id);
  for (const GraphOutput& output : graph.outputs()) check(output.value);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const ValueId input : node.inputs) check(input);
    for (const ValueId output : node.outputs) check(output);
    NodeCheck(graph, node).run();
  }
}

}  // namespace lathe
