#include "graph/text.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <map>

#include "graph/operators.h"
#include "support/error.h"

namespace lathe {
namespace {

// --- printing

std::string print_type(const Value& value) {
  std::string out = fmt::format("{}{}", name_of(value.dtype), to_string(value.shape));
  if (value.spec) out += " ~" + to_string(*value.spec);
  if (value.read_as) out += ">" + to_string(*value.read_as);
  if (!value.encoding) return out;
  const Encoding& encoding = *value.encoding;
  if (encoding.block > 0) {
    return out + fmt::format("<per channel {}, blocks of {}>", encoding.axis, encoding.block);
  }
  if (encoding.per_channel()) return out + fmt::format("<per channel {}>", encoding.axis);
  return out + fmt::format("<{}, {}>", encoding.scale.at(0), encoding.zero_point);
}

std::string print_item(const Attributes::Item& item) {
  if (const auto* integer = std::get_if<int64_t>(&item)) return fmt::format("{}", *integer);
  if (const auto* text = std::get_if<std::string>(&item)) return *text;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&item)) return to_string(*list);
  // A real always shows a point or an exponent, so that it is read back as a real.
  std::string out = fmt::format("{}", std::get<double>(item));
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

std::string print_node(const Graph& graph, const Node& node) {
  std::string out;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    out += fmt::format("{}%{}", i == 0 ? "" : ", ", graph.value(node.outputs[i]).name);
  }
  out += fmt::format(" = {}(", rule_of(node.op).name);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    out += fmt::format("{}%{}", i == 0 ? "" : ", ", graph.value(node.inputs[i]).name);
  }
  out += ")";
  if (!node.attributes.entries().empty()) {
    out += " {";
    const char* comma = "";
    for (const auto& [name, item] : node.attributes.entries()) {
      out += fmt::format("{}{}={}", comma, name, print_item(item));
      comma = ", ";
    }
    out += "}";
  }
  out += " : " + print_type(graph.value(node.output()));
  if (!node.module.empty()) out += " @ " + node.module;
  return out;
}

// --- parsing

/// One line of graph text, read from left to right.
class LineReader {
 public:
  LineReader(std::string_view line, int number) : rest_(line), number_(number) {}

  [[noreturn]] void refuse(std::string expected) const {
    fail({.what = "graph text is not well formed",
          .where = fmt::format("line {}", number_),
          .expected = std::move(expected),
          .found = rest_.empty() ? "the end of the line" : "'" + printable(rest_, 40) + "'"});
  }

  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }
  bool at(std::string_view token) {
    skip_spaces();
    return rest_.starts_with(token);
  }
  bool take(std::string_view token) {
    if (!at(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) refuse("'" + std::string(token) + "'");
  }
  /// Characters up to one of `stops`.
  std::string until(std::string_view stops) {
    skip_spaces();
    const size_t length = std::min(rest_.find_first_of(stops), rest_.size());
    std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length);
    if (word.empty()) refuse("a word");
    return word;
  }
  std::string name() {
    expect("%");
    return until(" ,()=");
  }
  template <typename T>
  T number() {
    skip_spaces();
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) refuse("a number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  std::vector<int64_t> list() {
    std::vector<int64_t> items;
    expect("[");
    if (take("]")) return items;
    do {
      items.push_back(number<int64_t>());
    } while (take(","));
    expect("]");
    return items;
  }
  std::string where() const { return fmt::format("line {}", number_); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  int number_;
};

struct ParsedType {
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Encoding> encoding;
  std::optional<QuantSpec> spec;
  std::optional<QuantSpec> read_as;
};

ParsedType parse_type(LineReader& line) {
  ParsedType type;
  type.dtype = dtype_from_name(line.until("["), line.where());
  type.shape = line.list();
  if (line.take("~")) type.spec = quant_spec_from(line.until(" >"), line.where());
  if (type.spec && line.take(">")) type.read_as = quant_spec_from(line.until(" "), line.where());
  if (!line.take("<")) return type;
  Encoding encoding;
  encoding.dtype = type.dtype;
  if (line.take("per channel")) {
    encoding.axis = line.number<int32_t>();
    const auto axis = static_cast<size_t>(encoding.axis);
    if (axis >= type.shape.size()) line.refuse("an axis of the tensor");
    encoding.scale.assign(static_cast<size_t>(type.shape[axis]), 1.0f);
    if (line.take(", blocks of")) encoding.block = line.number<int32_t>();
  } else {
    encoding.scale = {line.number<float>()};
    line.expect(",");
    encoding.zero_point = line.number<int32_t>();
  }
  line.expect(">");
  type.encoding = std::move(encoding);
  return type;
}

Attributes::Item parse_item(LineReader& line) {
  if (line.at("[")) return line.list();
  const std::string word = line.until(",}");
  const char* end = word.data() + word.size();
  int64_t integer = 0;
  if (const auto result = std::from_chars(word.data(), end, integer); result.ptr == end) {
    return integer;
  }
  double real = 0.0;
  if (const auto result = std::from_chars(word.data(), end, real); result.ptr == end) return real;
  return word;
}

Attributes parse_attributes(LineReader& line) {
  Attributes attributes;
  if (!line.take("{")) return attributes;
  do {
    const std::string name = line.until("=");
    line.expect("=");
    attributes.set(name, parse_item(line));
  } while (line.take(","));
  line.expect("}");
  return attributes;
}

class Parser {
 public:
  Graph parse(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      LineReader line(text.substr(0, end), ++number);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.at_end() || line.rest().starts_with("#")) continue;
      if (!graph_) {
        parse_header(line);
      } else {
        parse_line(line);
      }
    }
    if (!graph_) fail({.what = "graph text is empty"});
    return std::move(*graph_);
  }

 private:
  void parse_header(LineReader& line) {
    line.expect("graph");
    const std::string word = line.until(" ");
    line.expect("ar=");
    const auto tokens = line.number<int64_t>();
    line.expect("cl=");
    const auto context = line.number<int64_t>();
    const std::optional<GraphRole> role = role_named(word);
    if (!role) line.refuse("decode, prefill or calibrate");
    const int64_t window = line.take("w=") ? line.number<int64_t>() : 0;
    graph_.emplace(*role, tokens, context, window);
  }

  void define(const LineReader& line, const std::string& name, ValueId id) {
    if (!names_.emplace(name, id).second) line.refuse("a new name in place of %" + name);
  }

  ValueId use(LineReader& line) {
    const std::string name = line.name();
    const auto found = names_.find(name);
    if (found == names_.end()) line.refuse("a value defined above in place of %" + name);
    return found->second;
  }

  void parse_line(LineReader& line) {
    if (line.take("input ")) {
      const std::string name = line.name();
      line.expect(":");
      ParsedType type = parse_type(line);
      define(line, name, graph_->add_input(name, type.dtype, type.shape));
      set_type(names_.at(name), type);
    } else if (line.take("const ")) {
      const std::string name = line.name();
      line.expect(":");
      ParsedType type = parse_type(line);
      auto constant = std::make_shared<Constant>();
      constant->name = name;
      define(line, name, graph_->add_constant(name, type.dtype, type.shape, std::move(constant)));
      set_type(names_.at(name), type);
    } else if (line.take("output ")) {
      const std::string name = line.until(" =");
      line.expect("=");
      graph_->add_output(name, use(line));
    } else {
      parse_node(line);
    }
    if (!line.at_end()) line.refuse("the end of the line");
  }

  void parse_node(LineReader& line) {
    NodeSpec spec;
    std::vector<std::string> outputs{line.name()};
    while (line.take(",")) outputs.push_back(line.name());
    line.expect("=");
    const std::string op = line.until("(");
    const OperatorRule* rule = rule_named(op);
    if (rule == nullptr) line.refuse("an operator in place of " + op);
    spec.op = rule->op;
    spec.name = outputs.front();
    line.expect("(");
    if (!line.take(")")) {
      do {
        spec.inputs.push_back(use(line));
      } while (line.take(","));
      line.expect(")");
    }
    spec.attributes = parse_attributes(line);
    std::optional<ParsedType> type;
    if (line.take(":")) type = parse_type(line);
    if (line.take("@")) spec.module = line.until(" ");
    const ValueId id = graph_->append(std::move(spec));
    const std::vector<ValueId> ids = graph_->producer(id)->outputs;
    if (ids.size() != outputs.size()) line.refuse("a name for each output");
    for (size_t i = 0; i < ids.size(); ++i) define(line, outputs[i], ids[i]);
    if (!type) return;
    if (type->shape != graph_->value(id).shape) {
      line.refuse("shape " + to_string(graph_->value(id).shape));
    }
    set_type(id, *type);
  }

  void set_type(ValueId id, const ParsedType& type) {
    graph_->set_value_type(id, type.dtype, type.encoding);
    graph_->set_spec(id, type.spec);
    graph_->set_read_as(id, type.read_as);
  }

  std::optional<Graph> graph_;
  std::map<std::string, ValueId> names_;
};

}  // namespace

std::string print_value(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (const Node* producer = graph.producer(id)) return print_node(graph, *producer);
  return fmt::format("{} %{} : {}", value.is_constant() ? "const" : "input", value.name,
                     print_type(value));
}

std::string print_graph(const Graph& graph) {
  std::string out = fmt::format("graph {} ar={} cl={}", name_of(graph.role()),
                                graph.tokens_per_call(), graph.context());
  out += graph.window() == 0 ? "\n" : fmt::format(" w={}\n", graph.window());
  for (const ValueId id : graph.inputs()) out += "  " + print_value(graph, id) + "\n";
  std::vector<bool> shown(static_cast<size_t>(graph.value_count()), false);
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) {
      const Value& value = graph.value(input);
      if (!value.is_constant() || shown[static_cast<size_t>(input)]) continue;
      shown[static_cast<size_t>(input)] = true;
      out += "  " + print_value(graph, input) + "\n";
    }
  }
  for (const NodeId id : graph.order()) out += "  " + print_node(graph, graph.node(id)) + "\n";
  for (const GraphOutput& output : graph.outputs()) {
    out += fmt::format("  output {} = %{}\n", output.name, graph.value(output.value).name);
  }
  return out;
}

std::string print_nodes(const Graph& graph, std::string_view module) {
  std::string out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool inside = node.module.starts_with(module) &&
                        (node.module.size() == module.size() || node.module[module.size()] == '.');
    if (inside) out += "  " + print_node(graph, node) + "\n";
  }
  return out;
}

Graph parse_graph(std::string_view text) { return Parser().parse(text); }

}  // namespace lathe
