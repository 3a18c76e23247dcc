#include "executors/ort/qnn_dump.h"

#include <limits>

#include "support/error.h"
#include "support/json.h"
#include "support/tensor.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr int64_t kAppWrite = 0;
constexpr int64_t kAppRead = 1;
constexpr int64_t kMax = std::numeric_limits<int32_t>::max();

/// 0x0416 -> 16
int64_t bits_of_qnn_type(int64_t data_type) {
  return (data_type >> 4 & 0xF) * 10 + (data_type & 0xF);
}

int64_t bytes_of(const JsonFields& tensor) {
  const bool scalar = tensor.find("dims") == nullptr;
  const Shape shape = scalar ? Shape{} : tensor.integers("dims", 0, kMax);
  const int64_t count = checked_elements(shape);
  if (count < 0 || count > int64_t{1} << 48) {
    fail({.what = "shape is not possible", .where = tensor.place("dims")});
  }
  return count * bits_of_qnn_type(tensor.integer("data_type", 0, kMax)) / 8;
}

}  // namespace

CompiledGraph summarize_qnn_dump(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where);
  const JsonFields file(json, where);
  const JsonFields graph(file.object("graph"), file.place("graph"));
  CompiledGraph summary;
  for (const auto& [name, node] : graph.object("nodes").items()) {
    ++summary.operators[JsonFields(node, graph.place("nodes")).string("type")];
  }
  for (const auto& [name, item] : graph.object("tensors").items()) {
    const JsonFields tensor(item, graph.place("tensors"));
    const int64_t type = tensor.integer("type", 0, kMax);
    if (type != kAppWrite && type != kAppRead) continue;
    ++summary.boundary_tensors;
    summary.boundary_bytes += bytes_of(tensor);
  }
  return summary;
}

}  // namespace lathe
