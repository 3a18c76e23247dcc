// Before:                                                  After:
//   %to = aten.to(%x) {dtype=i64}           (%x is i32)      %to_1 = aten.to(%x) {dtype=f32}
//   %to_1 = aten.to(%to) {dtype=f32}
//   %requantize = lathe.requantize(%y) : u8 -> u16           (readers of %requantize_1 read %y)
//   %requantize_1 = lathe.requantize(%requantize) : u16 -> the encoding of %y
//
// Only what loses nothing on the way is left out: codes that go from 16 bits to 8 and back stay
// rounded to 8 bits. While the graph is float, the scales of an annotated requantize are not known
// yet, so it stays.

#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/rewrite.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool is_cast(const Node& node) { return node.op == Op::to || node.op == Op::requantize; }

bool is_annotated(const Value& value) { return value.spec || value.read_as; }

/// Whether every number of type `from` is one of type `to`.
bool holds_all(DType to, DType from) {
  if (to == from) return true;
  if (from == DType::boolean) return to == DType::f32 || to == DType::i64 || to == DType::i32;
  return from == DType::i32 && to == DType::i64;
}

/// Whether every number that a code of `from` stands for has a code in `to`.
bool holds_all(const Encoding& to, const Encoding& from) {
  if (to == from) return true;
  if (to.per_channel() || from.per_channel()) return false;
  const double fine = to.scale.at(0);
  const double steps = std::round(from.scale.at(0) / fine);
  if (steps < 1.0 || steps * fine != static_cast<double>(from.scale[0])) return false;
  const auto code = [&](int32_t q) { return (q - from.zero_point) * steps + to.zero_point; };
  const CodeRange codes = code_range(from.dtype);
  const CodeRange limits = code_range(to.dtype);
  return code(codes.low) >= limits.low && code(codes.high) <= limits.high;
}

bool is_same_type(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.encoding == b.encoding && !is_annotated(a) && !is_annotated(b);
}

bool loses_nothing(const Value& from, const Value& to) {
  if (is_annotated(from) || is_annotated(to)) return false;
  if (from.encoding && to.encoding) return holds_all(*to.encoding, *from.encoding);
  return !from.encoding && !to.encoding && holds_all(to.dtype, from.dtype);
}

}  // namespace

void fuse_consecutive_cast(Graph& graph) {
  // Per value: the earliest value whose numbers it holds, all of them exactly.
  std::vector<ValueId> same_as(static_cast<size_t>(graph.value_count()), kNone);
  Rewrite rewrite(graph);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!is_cast(node)) continue;
    const ValueId input = node.inputs[0];
    const ValueId earliest = same_as[static_cast<size_t>(input)];
    const ValueId source = earliest == kNone ? input : earliest;
    if (loses_nothing(graph.value(source), graph.value(node.output()))) {
      same_as[static_cast<size_t>(node.output())] = source;
    }
    if (is_same_type(graph.value(source), graph.value(node.output()))) {
      rewrite.replace(node.output(), source);
    } else if (source != input) {
      graph.set_inputs(id, {source});
    }
  }
  rewrite.apply();
  graph.remove_dead();
}

}  // namespace lathe
