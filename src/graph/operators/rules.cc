#include "graph/operators/rules.h"

#include <algorithm>

namespace lathe::rules {

void refuse(const Node& node, std::string what, std::string expected, std::string found) {
  fail({.what = std::move(what),
        .where =
            std::string(rule_of(node.op).name) + (node.module.empty() ? "" : " of " + node.module),
        .expected = std::move(expected),
        .found = std::move(found)});
}

size_t dimension(const Node& node, std::string_view attribute, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  int64_t dim = node.attributes.integer(attribute);
  if (dim < 0) dim += limit;
  if (dim < 0 || dim >= limit) {
    refuse(node, "attribute '" + std::string(attribute) + "' is out of range",
           "a dimension of " + std::to_string(rank), std::to_string(dim));
  }
  return static_cast<size_t>(dim);
}

Shape broadcast(const Node& node, const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1) {
      refuse(node, "shapes do not broadcast", to_string(a), to_string(b));
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Shape broadcast_strides(const Shape& shape, const Shape& to) {
  const Shape dense = dense_strides(shape);
  Shape strides(to.size(), 0);
  const size_t lead = to.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : dense[i];
  return strides;
}

}  // namespace lathe::rules

namespace lathe {
namespace {

const std::vector<OperatorRule>& table() {
  static const std::vector<OperatorRule> rules_by_op = [] {
    std::vector<OperatorRule> all(kOpCount);
    for (const auto group : {rules::movement(), rules::making(), rules::arithmetic(),
                             rules::logic(), rules::products()}) {
      for (const OperatorRule& rule : group) all[static_cast<size_t>(rule.op)] = rule;
    }
    return all;
  }();
  return rules_by_op;
}

}  // namespace

const OperatorRule& rule_of(Op op) { return table()[static_cast<size_t>(op)]; }

bool is_movement(Op op) {
  return op == Op::copy_ || rule_of(op).encoding == EncodingRule::moves_codes;
}

int64_t slice_step(const Node& slice) {
  return slice.attributes.has("step") ? slice.attributes.integer("step") : 1;
}

const OperatorRule* rule_named(std::string_view name) {
  for (const OperatorRule& rule : table()) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace lathe
