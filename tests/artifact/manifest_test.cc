#include "artifact/manifest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/expect_error.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::expect_error;

IoContract decode_io() {
  return {.role = GraphRole::decode,
          .tokens_per_call = 1,
          .context = 8,
          .inputs = {{"tokens", DType::i32, {1, 1}, {}}},
          .outputs = {{"logits",
                       DType::u16,
                       {1, 1, 32},
                       Encoding{.dtype = DType::u16, .scale = {0.25f}, .zero_point = 7}}}};
}

Manifest small_manifest() {
  Manifest manifest;
  manifest.format = "htp";
  manifest.chip = ExportedChip{"SM8750", 69, 79, 8};
  manifest.versions = {{"lathe", "0.1.0"}, {"onnxruntime", "1.32.0"}};
  manifest.model_hash = "abc";
  manifest.facts = {"llama", 32, 2, 8};
  manifest.generation = {{2}, 1};
  manifest.provenance = {"fingerprint", "tiny", "0.1.0", json::object()};
  manifest.graphs = {
      {decode_io(), {{"decode.onnx", "", decode_io(), CompiledGraph{{{"Conv2d", 3}}, 2, 68}}}}};
  manifest.files = {{"decode.onnx", 3, "123"}};
  return manifest;
}

/// What is said of a manifest that was changed by hand.
void expect_complaint(const std::function<void(json&)>& change,
                      const std::vector<std::string>& parts) {
  json manifest = json::parse(manifest_json(small_manifest()));
  change(manifest);
  expect_error([&] { parse_manifest(manifest.dump(), "lathe.json"); }, parts);
}

TEST(Manifest, ComesBackAsItWasWritten) {
  const std::string text = manifest_json(small_manifest());
  const Manifest manifest = parse_manifest(text, "lathe.json");
  EXPECT_EQ(manifest_json(manifest), text);
  EXPECT_EQ(manifest.chip, small_manifest().chip);
  const ExportedGraph* decode = manifest.find(GraphRole::decode);
  ASSERT_NE(decode, nullptr);
  EXPECT_EQ(decode->parts.at(0).file, "decode.onnx");
  EXPECT_EQ(decode->parts.at(0).compiled, (CompiledGraph{{{"Conv2d", 3}}, 2, 68}));
  EXPECT_EQ(decode->io.find_output("logits")->encoding, decode_io().outputs[0].encoding);
  EXPECT_EQ(manifest.find(GraphRole::prefill), nullptr);
}

TEST(Manifest, RefusesWhatItDoesNotKnow) {
  expect_complaint([](json& m) { m["format_version"] = 2; }, {"expected 1, found 2"});
  expect_complaint([](json& m) { m["format"] = "dlc"; }, {"found dlc"});
  expect_complaint([](json& m) { m.erase("chip"); }, {"contradict"});
  expect_complaint([](json& m) { m["graphs"][0]["parts"] = json::array(); }, {"no parts"});
  expect_complaint([](json& m) { m["graphs"][0]["io"]["role"] = "train"; }, {"found train"});
  expect_complaint([](json& m) { m["files"] = json::array(); }, {"decode.onnx"});
}

// A graph is compiled for its context: no file beside it makes it longer.
TEST(Manifest, RefusesAContextThatIsNotTheGraphs) {
  expect_complaint([](json& m) { m["model"]["context"] = 16; },
                   {"another context", "expected 16, found 8"});
  expect_complaint([](json& m) { m["graphs"][0]["io"]["context"] = 16; },
                   {"another context", "expected 8, found 16"});
  expect_complaint([](json& m) { m["graphs"][0]["parts"][0]["io"]["context"] = 16; },
                   {"another context", "expected 8, found 16"});
}

TEST(Manifest, RefusesNamesThatLeadOutOfTheFolder) {
  for (const char* name : {"../decode.onnx", "/etc/passwd", "a/b", "..", ".hidden", "", "a\nb"}) {
    expect_complaint([&](json& m) { m["graphs"][0]["parts"][0]["file"] = name; },
                     {"name of a file is not allowed"});
    expect_complaint([&](json& m) { m["files"][0]["name"] = name; },
                     {"name of a file is not allowed"});
  }
}

TEST(Manifest, RefusesImpossibleTensors) {
  const auto logits = [](json& m) -> json& { return m["graphs"][0]["io"]["outputs"][0]; };
  expect_complaint([&](json& m) { logits(m)["scale"] = 0; }, {"scale"});
  expect_complaint([&](json& m) { logits(m)["zero_point"] = 65536; }, {"zero_point"});
  expect_complaint([&](json& m) { logits(m)["shape"] = {1, -1}; }, {"shape"});
  expect_complaint([&](json& m) { logits(m)["shape"] = {1 << 30, 1 << 30, 1 << 30}; }, {"shape"});
  expect_complaint([&](json& m) { logits(m)["dtype"] = "u7"; }, {"u7"});
  expect_complaint([&](json& m) { m["graphs"][0]["io"]["outputs"].push_back(logits(m)); },
                   {"twice"});
}

class ExportFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) const {
    OutputFile file(folder_.path() / name);
    file.write(text);
    file.commit();
  }

  const TemporaryFolder folder_;
};

TEST_F(ExportFolder, FilesAreCheckedAgainstTheManifest) {
  write("decode.onnx", "abc");
  Manifest manifest = small_manifest();
  manifest.files = {describe_file(folder_.path(), "decode.onnx")};
  write("lathe.json", manifest_json(manifest));

  const Manifest read = read_manifest(folder_.path());
  check_files(folder_.path(), read);
  const auto expect_refused = [&](const std::vector<std::string>& parts) {
    expect_error([&] { check_files(folder_.path(), read); }, parts);
  };
  write("decode.onnx", "ab");
  expect_refused({"expected 3 bytes, found 2"});
  write("decode.onnx", "abd");
  expect_refused({"changed", read.files[0].hash});
  std::filesystem::remove(folder_.path() / "decode.onnx");
  expect_refused({"decode.onnx"});
}

TEST_F(ExportFolder, IsKnownByItsManifest) {
  EXPECT_FALSE(is_export_folder(folder_.path()));
  EXPECT_THROW(read_manifest(folder_.path()), Error);
  write("lathe.json", "{}");
  EXPECT_TRUE(is_export_folder(folder_.path()));
  EXPECT_THROW(read_manifest(folder_.path()), Error);
}

}  // namespace
}  // namespace lathe
