#include <memory>
#include <vector>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "support/safetensors.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  OpenOptions open;
  std::vector<int64_t> ids;
  std::filesystem::path output;
};

void run(const Arguments& arguments) {
  const LogitsModel model = open_logits_model(arguments.model, arguments.open);
  const auto tokens = static_cast<int64_t>(arguments.ids.size());
  SafetensorsWriter writer(arguments.output, {}, {{"logits", DType::f32, {tokens, model.vocab}}});
  model.run(arguments.ids, [&](int64_t, std::span<const float> row) {
    writer.write("logits", std::as_bytes(row));
  });
  writer.commit();
}

}  // namespace

void add_logits(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "logits", "Write the logits after each of some tokens",
                                  "lathe logits smol.lathe --ids 1,2,3 -o logits.safetensors");
  add_artifact_or_source(*command, arguments->model,
                         "Artifact, or a checkpoint, which is then run in float");
  add_ids(*command, "--ids", arguments->ids, "Token ids: 1,2,3")->required();
  add_output(*command, arguments->output,
             "File to write: tensor `logits`, f32 [tokens, vocabulary]");
  add_open_options(*command, arguments->open);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
