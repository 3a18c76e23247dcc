#include "artifact/graph_reader.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "artifact/format.h"
#include "artifact/graph_checks.h"
#include "artifact/list_reader.h"
#include "graph/operators.h"
#include "support/error.h"
#include "support/json.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

/// What the graphs refer to by index.
struct Tables {
  std::vector<Op> operators;
  std::vector<std::string> modules;
  std::vector<Encoding> encodings;
  struct StoredConstant {
    std::shared_ptr<const Constant> constant;
    DType dtype = DType::u8;
  };
  std::vector<StoredConstant> constants;
};

/// Per-channel scales are copied wherever they are used; what a file can ask for is limited.
class ScaleBudget {
 public:
  void take(const std::vector<float>& scales) {
    if (scales.size() > left_) fail({.what = "too many scales in all"});
    left_ -= scales.size();
  }

 private:
  size_t left_ = size_t{1} << 25;
};

/// Calls body(record) with every record of a list.
template <typename Body>
void read_records(const JsonFields& fields, std::string_view key, size_t limit, const Body& body) {
  const Json& list = list_field(fields, key, limit);
  const std::string section = fields.place(key);
  for (size_t i = 0; i < list.size(); ++i) {
    ListReader record(list[i], section, i);
    body(record);
    record.finish();
  }
}

class TablesReader {
 public:
  TablesReader(const JsonFields& fields, const Container& container, ScaleBudget& budget)
      : fields_(fields), container_(container), budget_(budget) {}

  Tables run() {
    ListReader operators(list_field(fields_, "operators", kOpCount), "operators", 0);
    while (!operators.at_end()) read_operator(operators);
    ListReader modules(list_field(fields_, "modules", kMaxNodes), "modules", 0);
    while (!modules.at_end()) tables_.modules.push_back(modules.name());
    read_records(fields_, "encodings", kMaxNodes, [&](ListReader& item) { read_encoding(item); });
    read_records(fields_, "constants", kMaxNodes, [&](ListReader& item) { read_constant(item); });
    return std::move(tables_);
  }

 private:
  void read_operator(ListReader& names) {
    const std::string& name = names.string();
    const OperatorRule* rule = rule_named(name);
    if (rule == nullptr) names.refuse("an unknown operator", {}, name);
    tables_.operators.push_back(rule->op);
  }

  void read_encoding(ListReader& item) {
    Encoding encoding;
    encoding.dtype = dtype_from_name(item.string(), "encodings");
    const Json& scale = item.any();
    if (scale.is_number()) {
      const double number = scale.get<double>();
      if (!(number > 0.0 && number <= std::numeric_limits<float>::max())) {
        item.refuse("a scale is not a positive number", {}, describe(scale));
      }
      encoding.scale = {static_cast<float>(number)};
    } else if (scale.is_string()) {
      encoding.scale = channel_scales(item, scale.get_ref<const std::string&>());
    } else {
      item.refuse("wrong JSON type", "a scale or the name of a tensor", describe(scale));
    }
    encoding.zero_point = static_cast<int32_t>(item.integer(INT32_MIN, INT32_MAX));
    if (scale.is_string()) encoding.axis = static_cast<int32_t>(item.integer(0, kMaxRank));
    if (!item.at_end()) encoding.block = static_cast<int32_t>(item.integer(1, kMaxDimension));
    budget_.take(encoding.scale);
    tables_.encodings.push_back(std::move(encoding));
  }

  std::vector<float> channel_scales(const ListReader& item, const std::string& name) const {
    const SafetensorsEntry& entry = tensor(item, name);
    if (entry.dtype != DType::f32 || entry.shape.size() != 1) {
      item.refuse("not a list of scales", "F32 [channels]", entry.type + to_string(entry.shape));
    }
    std::vector<float> scales(entry.size / sizeof(float));
    if (!scales.empty()) std::memcpy(scales.data(), container_.bytes(entry).data(), entry.size);
    return scales;
  }

  void read_constant(ListReader& item) {
    auto constant = std::make_shared<Constant>();
    constant->name = item.name();
    const std::string& layout = item.string();
    if (layout != "packed" && layout != "rows") item.refuse("an unknown layout", {}, layout);
    constant->layout = layout == "packed" ? Layout::packed : Layout::rows;
    const SafetensorsEntry& entry = tensor(item, constant->name);
    if (!entry.dtype || entry.begin % kSafetensorsAlignment != 0) {
      item.refuse("the tensor cannot be used where it lies", "an aligned one of a known type",
                  entry.type + " at byte " + std::to_string(entry.begin));
    }
    constant->bytes = container_.share(entry);
    constant->byte_count = static_cast<int64_t>(entry.size);
    tables_.constants.push_back({std::move(constant), *entry.dtype});
  }

  const SafetensorsEntry& tensor(const ListReader& item, const std::string& name) const {
    const SafetensorsEntry* entry = container_.find(name);
    if (entry == nullptr) item.refuse("the tensor is missing", {}, name);
    return *entry;
  }

  const JsonFields& fields_;
  const Container& container_;
  ScaleBudget& budget_;
  Tables tables_;
};

GraphRole known_role(const std::string& name) {
  if (const std::optional<GraphRole> role = role_named(name)) return *role;
  fail({.what = "an unknown graph role", .found = name});
}

class GraphReader {
 public:
  GraphReader(const JsonFields& fields, const Tables& tables, ScaleBudget& budget)
      : fields_(fields),
        tables_(tables),
        budget_(budget),
        graph_(known_role(fields.string("role")),
               fields.integer("tokens_per_call", 1, kMaxDimension),
               fields.integer("context", 1, kMaxDimension),
               fields.optional_integer("window", 0, kMaxDimension).value_or(0)) {}

  Graph run() {
    read_records(fields_, "inputs", kMaxBoundary, [&](ListReader& record) { read_input(record); });
    read_records(fields_, "constants", kMaxNodes,
                 [&](ListReader& record) { read_constant(record); });
    read_records(fields_, "nodes", kMaxNodes, [&](ListReader& record) { read_node(record); });
    read_records(fields_, "outputs", kMaxBoundary, [&](ListReader& record) {
      std::string name = record.name();
      graph_.add_output(std::move(name), value_id(record));
    });
    check_graph(graph_);
    return std::move(graph_);
  }

 private:
  template <typename Item>
  static const Item& pick(ListReader& record, const std::vector<Item>& table) {
    return table[static_cast<size_t>(record.integer(0, static_cast<int64_t>(table.size()) - 1))];
  }

  ValueId value_id(ListReader& record) const {
    return static_cast<ValueId>(record.integer(0, graph_.value_count() - 1));
  }

  std::optional<Encoding> encoding(ListReader& record) const {
    const int64_t index = record.integer(-1, static_cast<int64_t>(tables_.encodings.size()) - 1);
    if (index < 0) return std::nullopt;
    const Encoding& encoding = tables_.encodings[static_cast<size_t>(index)];
    budget_.take(encoding.scale);
    return encoding;
  }

  void read_input(ListReader& record) {
    std::string name = record.name();
    const DType dtype = dtype_from_name(record.string(), name);
    Shape shape = checked_shape(record, name);
    const ValueId id = graph_.add_input(std::move(name), dtype, std::move(shape));
    graph_.set_value_type(id, dtype, encoding(record));
  }

  void read_constant(ListReader& record) {
    std::string name = record.name();
    const Tables::StoredConstant& stored = pick(record, tables_.constants);
    const DType dtype = dtype_from_name(record.string(), name);
    if (stored_type(dtype) != stored.dtype) {
      record.refuse("the tensor is of another type", std::string(name_of(stored_type(dtype))),
                    std::string(name_of(stored.dtype)));
    }
    Shape shape = checked_shape(record, name);
    const ValueId id =
        graph_.add_constant(std::move(name), dtype, std::move(shape), stored.constant);
    graph_.set_value_type(id, dtype, encoding(record));
  }

  void read_node(ListReader& record) {
    NodeSpec spec;
    spec.op = pick(record, tables_.operators);
    spec.module = pick(record, tables_.modules);
    spec.name = record.name();
    if (spec.name.empty()) record.refuse("a value has no name of its own");
    const std::optional<Encoding> code = encoding(record);
    spec.inputs = read_ids(record);
    spec.attributes = read_attributes(record);
    check_attributes(spec.attributes, spec.name);
    const ValueId id = graph_.append(std::move(spec));
    check_shape(graph_.value(id).shape, graph_.value(id).name);
    if (code) graph_.set_value_type(id, code->dtype, code);
  }

  std::vector<ValueId> read_ids(ListReader& record) const {
    const std::vector<int64_t> ids = record.integers(0, graph_.value_count() - 1, kMaxNodeInputs);
    return {ids.begin(), ids.end()};
  }

  static Attributes read_attributes(ListReader& record) {
    Attributes attributes;
    while (!record.at_end()) {
      const std::string& name = record.string();
      if (attributes.has(name) || attributes.entries().size() == kMaxAttributes) {
        record.refuse("an attribute is given twice, or too many", {}, name);
      }
      attributes.set(name, read_item(record));
    }
    return attributes;
  }

  static Attributes::Item read_item(ListReader& record) {
    if (record.peek().is_number_float()) return record.any().get<double>();
    if (record.peek().is_string()) return record.string();
    if (record.peek().is_array()) return record.integers(-1, kMaxDimension, kMaxRank);
    return record.integer(INT64_MIN, INT64_MAX);
  }

  static Shape checked_shape(ListReader& record, const std::string& name) {
    Shape shape = record.shape();
    check_shape(shape, name);
    return shape;
  }

  const JsonFields& fields_;
  const Tables& tables_;
  ScaleBudget& budget_;
  Graph graph_;
};

}  // namespace

std::vector<Graph> load_graphs(std::string_view json, const Container& container) {
  const Json document = parse_json(json, "graphs");
  const JsonFields fields(document, "graphs");
  ScaleBudget budget;
  const Tables tables = TablesReader(fields, container, budget).run();
  const Json& list = list_field(fields, "graphs", kMaxGraphs);
  if (list.empty()) fail({.what = "the model has no graph"});
  std::vector<Graph> graphs;
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonFields graph(list[i], "graphs[" + std::to_string(i) + "]");
    graphs.push_back(GraphReader(graph, tables, budget).run());
  }
  return graphs;
}

}  // namespace lathe
