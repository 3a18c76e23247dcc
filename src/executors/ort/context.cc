#include "executors/ort/context.h"

#include <memory>
#include <system_error>
#include <vector>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "executors/ort/context_wrapper.h"
#include "executors/ort/library.h"
#include "executors/ort/loaded_model.h"
#include "executors/ort/onnx_writer.h"
#include "support/error.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return;
  fail({.what = "cannot make the folder",
        .where = printable(path.string()),
        .found = error.message()});
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return;
  fail(
      {.what = "cannot write the file", .where = printable(to.string()), .found = error.message()});
}

/// The settings that let a session write what it compiled. Sessions that share a context hand what
/// they have from one to the next; the last one writes the binary, named after the first.
OrtSettings compiling(const OrtSettings& base, const fs::path& wrapper, bool shares, bool last) {
  OrtSettings settings = base;
  settings.config.push_back({"ep.context_enable", "1"});
  settings.config.push_back({"ep.context_embed_mode", "0"});
  settings.config.push_back({"ep.context_file_path", wrapper.string()});
  if (shares) settings.config.push_back({"ep.share_ep_contexts", "1"});
  if (shares && last) settings.config.push_back({"ep.stop_share_ep_contexts", "1"});
  return settings;
}

/// Ends what sessions share after one of them failed. It would else go into the next context, and
/// the provider would free it at the end of the process, when ONNX Runtime is gone already: a
/// crash. The last of the sessions ends it, whatever it compiles: here one operator.
void end_sharing(const OrtSettings& base, const fs::path& work) {
  const Encoding codes{DType::u8, {1.0f}, 0, -1};
  Graph graph(GraphRole::decode, 1, 1);
  const ValueId x = graph.add_input("x", DType::u8, {1, 8});
  const ValueId y = graph.append({.op = Op::add, .inputs = {x, x}});
  for (const ValueId value : {x, y}) graph.set_value_type(value, DType::u8, codes);
  graph.add_output("y", y);
  const std::string name = "end";
  write_onnx({{{name, &graph}}}, work);
  LoadedModel(work / (name + ".onnx"),
              compiling(base, work / (name + ".context.onnx"), /*shares=*/true, /*last=*/true));
}

/// A compiler frees in many small pieces what the next graph will want in large ones.
void return_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

void compile_context(const fs::path& source, std::span<const std::string> names,
                     const fs::path& output, const std::string& binary,
                     const ContextOptions& options) {
  OrtSettings base = settings_for({.threads = 0, .htp = options.htp});
  std::unique_ptr<const TemporaryFolder> dump;
  if (!options.graph_dump.empty()) {
    make_folder(options.graph_dump);
    dump = std::make_unique<const TemporaryFolder>(options.graph_dump);
    base.provider_options.push_back({"dump_json_qnn_graph", "1"});
    base.provider_options.push_back({"json_qnn_graph_dir", dump->path().string()});
  }

  const TemporaryFolder work(output);
  const bool shares = names.size() > 1;
  try {
    for (const std::string& name : names) {
      const bool last = &name == &names.back();
      // What sessions share outlives them; what each has of its own, a copy of the weights, does
      // not.
      LoadedModel(source / (name + ".onnx"),
                  compiling(base, work.path() / (name + ".onnx"), shares, last));
      return_freed_memory();
    }
  } catch (const Error&) {
    if (shares) end_sharing(base, work.path());
    throw;
  }
  // First what the small files point at.
  move_file(work.path() / (names.front() + "_qnn.bin"), output / binary);
  for (const std::string& name : names) {
    const fs::path wrapper = work.path() / (name + ".onnx");
    const std::string graph = point_at_context(wrapper, {binary, names.size()});
    if (dump != nullptr) {
      move_file(dump->path() / (graph + ".json"), options.graph_dump / (name + ".json"));
    }
    move_file(wrapper, output / (name + ".onnx"));
  }
}

}  // namespace lathe
