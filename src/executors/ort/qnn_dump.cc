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

const Json& object_of(const JsonFields& fields, std::string_view key) {
  const Json* object = fields.find(key);
  if (object != nullptr && object->is_object()) return *object;
  fail({.what = "the account of the compiled graph is not readable",
        .where = fields.place(key),
        .expected = "an object"});
}

/// 0x0416 -> 16
int64_t bits_of_qnn_type(int64_t data_type) {
  return (data_type >> 4 & 0xF) * 10 + (data_type & 0xF);
}

int64_t bytes_of(const JsonFields& tensor) {
  Shape shape;
  const Json* dims = tensor.find("dims");
  if (dims != nullptr && dims->is_array()) {
    for (const Json& size : *dims) {
      const Json item = {{"dims", size}};
      shape.push_back(JsonFields(item, tensor.place("dims")).integer("dims", 0, kMax));
    }
  }
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
  const JsonFields graph(object_of(file, "graph"), file.place("graph"));
  CompiledGraph summary;
  for (const auto& [name, node] : object_of(graph, "nodes").items()) {
    ++summary.operators[JsonFields(node, graph.place("nodes")).string("type")];
  }
  for (const auto& [name, item] : object_of(graph, "tensors").items()) {
    const JsonFields tensor(item, graph.place("tensors"));
    const int64_t type = tensor.integer("type", 0, kMax);
    if (type != kAppWrite && type != kAppRead) continue;
    ++summary.boundary_tensors;
    summary.boundary_bytes += bytes_of(tensor);
  }
  return summary;
}

}  // namespace lathe
