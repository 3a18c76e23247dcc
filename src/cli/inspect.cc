#include <fmt/format.h>

#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "artifact/read.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "executors/cpu/plan.h"
#include "graph/operators.h"
#include "graph/text.h"
#include "support/thread_pool.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  std::string graph;
  bool json = false;
};

/// What one call of a graph moves, and what it is made of.
struct Summary {
  std::map<std::string, int64_t> operators;
  int64_t weight_bytes = 0;
  int64_t kv_bytes_in = 0;
  int64_t kv_bytes_out = 0;
  size_t arena_bytes = 0;
};

int64_t bytes_of(const IoTensor& tensor) { return byte_size(tensor.dtype, tensor.shape); }

bool is_cache(const std::string& name) { return name.starts_with("k_") || name.starts_with("v_"); }

Summary summarize(const Graph& graph) {
  Summary summary;
  std::set<std::string> counted;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    ++summary.operators[std::string(rule_of(node.op).name)];
    for (const ValueId input : node.inputs) {
      const Value& value = graph.value(input);
      if (value.is_constant() && counted.insert(value.constant->name).second) {
        summary.weight_bytes += value.constant->byte_count;
      }
    }
  }
  const IoContract io = graph.io();
  for (const IoTensor& tensor : io.inputs) {
    if (is_cache(tensor.name)) summary.kv_bytes_in += bytes_of(tensor);
  }
  for (const IoTensor& tensor : io.outputs) {
    if (is_cache(tensor.name)) summary.kv_bytes_out += bytes_of(tensor);
  }
  summary.arena_bytes = lower(graph, thread_count(0)).arena_bytes;
  return summary;
}

nlohmann::ordered_json to_json(const std::vector<IoTensor>& tensors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const IoTensor& tensor : tensors) {
    nlohmann::ordered_json item{
        {"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}};
    if (tensor.encoding) {
      item["scale"] = tensor.encoding->scale;
      item["zero_point"] = tensor.encoding->zero_point;
    }
    list.push_back(std::move(item));
  }
  return list;
}

void print_tensors(const char* title, const std::vector<IoTensor>& tensors) {
  std::cout << title << '\n';
  for (const IoTensor& tensor : tensors) {
    std::cout << fmt::format("  {:<16} {}{}{}\n", tensor.name, name_of(tensor.dtype),
                             to_string(tensor.shape),
                             tensor.encoding ? "  " + to_string(*tensor.encoding) : "");
  }
}

void run(const Arguments& arguments) {
  const Model model = read_model(arguments.model, WeightCheck::sizes);
  const Graph& graph =
      model.graph(arguments.graph == "prefill" ? GraphRole::prefill : GraphRole::decode);
  if (!arguments.graph.empty() && !arguments.json) {
    std::cout << print_graph(graph);
    return;
  }
  const Summary summary = summarize(graph);
  const IoContract io = graph.io();
  if (arguments.json) {
    print_json({{"io", {{"inputs", to_json(io.inputs)}, {"outputs", to_json(io.outputs)}}},
                {"operators", summary.operators},
                {"weight_bytes", summary.weight_bytes},
                {"kv_bytes_in", summary.kv_bytes_in},
                {"kv_bytes_out", summary.kv_bytes_out},
                {"arena_bytes", summary.arena_bytes}});
    return;
  }
  std::cout << fmt::format("{} graph: {} tokens per call, context {}\n", name_of(io.role),
                           io.tokens_per_call, io.context);
  print_tensors("inputs", io.inputs);
  print_tensors("outputs", io.outputs);
  std::cout << "operators\n";
  for (const auto& [name, count] : summary.operators) {
    std::cout << fmt::format("  {:<18} {}\n", name, count);
  }
  std::cout << fmt::format(
      "bytes a call: weights {}, caches read {} and written {}; arena {} bytes\n",
      summary.weight_bytes, summary.kv_bytes_in, summary.kv_bytes_out, summary.arena_bytes);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "inspect", "Show what is in an artifact",
                                  "lathe inspect smol.lathe --graph decode");
  add_artifact(*command, arguments->model);
  command->add_option("--graph", arguments->graph, "Print the graph of this role")
      ->check(CLI::IsMember({"decode", "prefill"}));
  add_json(*command, arguments->json);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
