#include "artifact/io_description.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "support/error.h"
#include "support/json.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxNameLength = 200;

Json tensors_json(const std::vector<IoTensor>& tensors) {
  Json list = Json::array();
  for (const IoTensor& tensor : tensors) {
    Json item = {{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}};
    if (tensor.encoding) {
      item["scale"] = tensor.encoding->scale.at(0);
      item["zero_point"] = tensor.encoding->zero_point;
    }
    list.push_back(std::move(item));
  }
  return list;
}

Shape parse_shape(const JsonFields& fields) {
  Shape shape = fields.integers("shape", 0, kMaxSize);
  if (shape.size() > 8 || checked_elements(shape) < 0) {
    fail({.what = "shape is not possible",
          .where = fields.place("shape"),
          .found = printable(to_string(shape), 60)});
  }
  return shape;
}

IoTensor parse_tensor(const Json& json, const std::string& where) {
  const JsonFields fields(json, where);
  IoTensor tensor;
  tensor.name = fields.string("name");
  if (tensor.name.empty() || tensor.name.size() > kMaxNameLength) {
    fail({.what = "name is not possible", .where = fields.place("name")});
  }
  tensor.dtype = dtype_from_name(fields.string("dtype"), fields.place("dtype"));
  tensor.shape = parse_shape(fields);
  if (fields.find("scale") == nullptr) return tensor;
  const double scale = fields.number("scale", 0, std::numeric_limits<float>::max());
  if (static_cast<float>(scale) <= 0.0f) {
    fail({.what = "scale is not positive", .where = fields.place("scale")});
  }
  const auto [low, high] = code_range(tensor.dtype);
  tensor.encoding =
      Encoding{.dtype = tensor.dtype,
               .scale = {static_cast<float>(scale)},
               .zero_point = static_cast<int32_t>(fields.integer("zero_point", low, high))};
  return tensor;
}

std::vector<IoTensor> parse_tensors(const JsonFields& fields, std::string_view key) {
  std::vector<IoTensor> tensors;
  for (const Json& item : fields.list(key)) {
    IoTensor tensor = parse_tensor(item, fields.place(key));
    const bool twice = std::any_of(tensors.begin(), tensors.end(),
                                   [&](const IoTensor& t) { return t.name == tensor.name; });
    if (twice) {
      fail({.what = "name is there twice",
            .where = fields.place(key),
            .found = printable(tensor.name, 40)});
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

GraphRole parse_role(const JsonFields& fields) {
  const std::string name = fields.string("role");
  if (const std::optional<GraphRole> role = role_named(name)) return *role;

  fail({.what = "there is no such role",
        .where = fields.place("role"),
        .expected = "decode, prefill or calibrate",
        .found = printable(name, 40)});
}

}  // namespace

Json io_contract_json(const IoContract& io) {
  return {{"role", name_of(io.role)},
          {"tokens_per_call", io.tokens_per_call},
          {"context", io.context},
          {"window", io.window},
          {"inputs", tensors_json(io.inputs)},
          {"outputs", tensors_json(io.outputs)}};
}

IoContract parse_io_contract(const Json& json, const std::string& where) {
  const JsonFields fields(json, where);
  return {parse_role(fields),
          fields.integer("tokens_per_call", 1, kMaxSize),
          fields.integer("context", 1, kMaxSize),
          fields.optional_integer("window", 0, kMaxSize).value_or(0),
          parse_tensors(fields, "inputs"),
          parse_tensors(fields, "outputs")};
}

}  // namespace lathe
