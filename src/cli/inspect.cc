#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "artifact/manifest.h"
#include "artifact/read.h"
#include "cli/command.h"
#include "cli/inspect_diff.h"
#include "cli/inspect_export.h"
#include "cli/inspect_plan.h"
#include "cli/options.h"
#include "cli/output.h"
#include "executors/cpu/plan.h"
#include "graph/summary.h"
#include "graph/text.h"
#include "support/error.h"
#include "support/thread_pool.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  std::string graph;
  std::filesystem::path other;
  bool plan = false;
  bool json = false;
};

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

/// What the rings of sliding layers save of the caches; empty where no layer slides.
std::string ring_saving(const IoContract& io, const GraphSummary& summary) {
  if (io.window == 0) return "";
  const int64_t saved = summary.kv_bytes_full_context - summary.kv_bytes_in;
  return fmt::format(
      " (rings of {} slots save {} of {}, {:.1f} %)", io.window, saved,
      summary.kv_bytes_full_context,
      100.0 * static_cast<double>(saved) / static_cast<double>(summary.kv_bytes_full_context));
}

void run(const Arguments& arguments) {
  if (!arguments.other.empty()) {
    if (!print_diff(arguments.model, arguments.other, arguments.json)) throw CLI::RuntimeError(1);
    return;
  }
  if (is_export_folder(arguments.model)) {
    if (arguments.plan) {
      fail({.what = "an export is not run by the CPU executor and has no plan",
            .where = arguments.model.string(),
            .advice = "inspect the artifact that it was made from"});
    }
    print_export(arguments.model, arguments.json);
    return;
  }
  const Model model = read_model(arguments.model, WeightCheck::sizes);
  const Graph& graph =
      model.graph(arguments.graph == "prefill" ? GraphRole::prefill : GraphRole::decode);
  if (arguments.plan) {
    print_plan(graph, arguments.json);
    return;
  }
  if (!arguments.graph.empty() && !arguments.json) {
    std::cout << print_graph(graph);
    return;
  }
  const GraphSummary summary = summarize(graph);
  const size_t arena_bytes = lower(graph, thread_count(0)).arena_bytes;
  const IoContract io = graph.io();
  if (arguments.json) {
    print_json({{"io", {{"inputs", to_json(io.inputs)}, {"outputs", to_json(io.outputs)}}},
                {"operators", summary.operators},
                {"weight_bytes", summary.weight_bytes},
                {"kv_bytes_in", summary.kv_bytes_in},
                {"kv_bytes_out", summary.kv_bytes_out},
                {"arena_bytes", arena_bytes},
                {"boundary_bytes", summary.boundary_bytes},
                {"activation_bytes", summary.activation_bytes},
                {"kv_bytes_full_context", summary.kv_bytes_full_context}});
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
      "bytes a call\n"
      "  weights            {} (of embeddings the rows read)\n"
      "  caches in          {}{}\n"
      "  caches out         {}\n"
      "  other in and out   {}\n"
      "  between nodes      {}\n"
      "arena                {} bytes\n",
      summary.weight_bytes, summary.kv_bytes_in, ring_saving(io, summary), summary.kv_bytes_out,
      summary.boundary_bytes, summary.activation_bytes, arena_bytes);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "inspect", "Show what is in an artifact",
                                  "lathe inspect smol.lathe --graph decode");
  add_artifact(*command, arguments->model);
  CLI::Option* graph =
      command->add_option("--graph", arguments->graph, "Print the graph of this role, or its plan")
          ->check(CLI::IsMember({"decode", "prefill"}));
  CLI::Option* plan = command->add_flag(
      "--plan", arguments->plan, "Print the steps that the CPU executor runs, with their costs");
  add_file(*command, "--diff", arguments->other,
           "Artifact whose graphs to compare by structure; exits with 1 where they differ")
      ->excludes(graph)
      ->excludes(plan);
  add_json(*command, arguments->json);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
