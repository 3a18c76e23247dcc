#include "cli/small_model.h"

#include "cli/program.h"
#include "support/test_files.h"

namespace lathe::testing {

std::string small_source() { return LATHE_TEST_DATA "/tiny/llama"; }

std::vector<std::string> compile_arguments(const std::string& source, const std::string& output) {
  return {"compile",   source,      "-o",
          output,      "--context", std::to_string(kContext),
          "--prefill", "16",        "--calibration-tokens",
          "128"};
}

std::string small_model() {
  static const TestFolder folder;
  static const std::string path = [] {
    std::string file = (folder / "small.lathe").string();
    lathe_output(compile_arguments(small_source(), file));
    return file;
  }();
  return path;
}

nlohmann::ordered_json json_output(const std::vector<std::string>& arguments) {
  return nlohmann::ordered_json::parse(lathe_output(arguments));
}

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

}  // namespace lathe::testing
