#include "lathe/export.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "executors/ort/chips.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  std::filesystem::path output;
  ExportOptions options;
  std::string shards = "auto";
  std::string embedding = "auto";
  bool json = false;
};

void run(Arguments& arguments) {
  ExportOptions& options = arguments.options;
  options.progress = progress;
  if (arguments.embedding != "auto") options.embedding_on_host = arguments.embedding == "host";
  if (arguments.shards != "auto") options.shards = std::stoi(arguments.shards);
  const ExportReport report = export_model(arguments.model, arguments.output, options);
  if (arguments.json) {
    print_json({{"seconds", report.seconds},
                {"peak_rss_bytes", report.peak_rss_bytes},
                {"folder_bytes", report.folder_bytes},
                {"context_bytes", report.context_bytes},
                {"weight_bytes", report.weight_bytes},
                {"shards", report.shards}});
    return;
  }
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::cout << fmt::format(
      "{}: {:.1f} MB, weights {:.1f} MB, {} {}; {:.1f} s, {:.0f} MB peak memory\n",
      arguments.output.string(), megabytes(report.folder_bytes), megabytes(report.weight_bytes),
      report.shards, report.shards == 1 ? "part" : "parts", report.seconds,
      megabytes(report.peak_rss_bytes));
}

/// "SA8295 V68, SA8797 V81, ..."
std::string list_chips() {
  std::string list;
  for (const Chip& chip : chips()) {
    list += fmt::format("{}{} V{}", list.empty() ? "" : ", ", chip.name, chip.arch);
  }
  return list;
}

}  // namespace

void add_export(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(app, "export", "Write a compiled model for another runtime",
                  "lathe export tiny.lathe --format htp --soc SM8750 -o tiny-sm8750");
  command->footer(command->get_footer() + "\nChips:\n  " + list_chips());
  ExportOptions& options = arguments->options;
  add_artifact(*command, arguments->model);
  command->add_option("-o,--output", arguments->output, "The folder to write")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--format", options.format,
                   "onnx: static QDQ graphs; htp: context binaries of a Snapdragon")
      ->check(CLI::IsMember({"onnx", "htp"}))
      ->required();
  CLI::Option* soc = command->add_option("--soc", options.soc,
                                         "The chip: name (SM8750), id (69) or generation (v79)");
  command->add_option("--optimization", options.optimization, "How hard the compiler tries")
      ->check(between(1, 3))
      ->capture_default_str()
      ->needs(soc);
  command
      ->add_option("--shards", arguments->shards,
                   "Parts, cut by layers; auto: as few as the chip's limits and the recipe allow")
      ->check(CLI::Range(1, 1000) | CLI::IsMember({"auto"}))
      ->capture_default_str();
  command
      ->add_option(
          "--embedding", arguments->embedding,
          "host: the table stays out of the graphs, its rows are looked up; auto: as the recipe "
          "says")
      ->check(CLI::IsMember({"auto", "graph", "host"}))
      ->capture_default_str();
  command
      ->add_flag("!--no-simulator", options.simulator,
                 "Leave out the graphs that the simulator on x86-64 runs")
      ->needs(soc);
  command
      ->add_option("--graph-dump", options.graph_dump,
                   "Folder for the compiler's own account of the graphs (JSON)")
      ->type_name("DIR");
  add_json(*command, arguments->json);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
