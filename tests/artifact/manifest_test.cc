#include "artifact/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

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

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// What is said of a manifest that was changed by hand.
std::string complaint(const std::function<void(json&)>& change) {
  json manifest = json::parse(manifest_json(small_manifest()));
  change(manifest);
  return message_of([&] { parse_manifest(manifest.dump(), "lathe.json"); });
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
  EXPECT_THAT(complaint([](json& m) { m["format_version"] = 2; }),
              HasSubstr("expected 1, found 2"));
  EXPECT_THAT(complaint([](json& m) { m["format"] = "dlc"; }), HasSubstr("found dlc"));
  EXPECT_THAT(complaint([](json& m) { m.erase("chip"); }), HasSubstr("contradict"));
  EXPECT_THAT(complaint([](json& m) { m["graphs"][0]["parts"] = json::array(); }),
              HasSubstr("no parts"));
  EXPECT_THAT(complaint([](json& m) { m["graphs"][0]["io"]["role"] = "train"; }),
              HasSubstr("found train"));
  EXPECT_THAT(complaint([](json& m) { m["files"] = json::array(); }), HasSubstr("decode.onnx"));
}

TEST(Manifest, RefusesNamesThatLeadOutOfTheFolder) {
  for (const char* name : {"../decode.onnx", "/etc/passwd", "a/b", "..", ".hidden", "", "a\nb"}) {
    EXPECT_THAT(complaint([&](json& m) { m["graphs"][0]["parts"][0]["file"] = name; }),
                HasSubstr("name of a file is not allowed"));
    EXPECT_THAT(complaint([&](json& m) { m["files"][0]["name"] = name; }),
                HasSubstr("name of a file is not allowed"));
  }
}

TEST(Manifest, RefusesImpossibleTensors) {
  const auto logits = [](json& m) -> json& { return m["graphs"][0]["io"]["outputs"][0]; };
  EXPECT_THAT(complaint([&](json& m) { logits(m)["scale"] = 0; }), HasSubstr("scale"));
  EXPECT_THAT(complaint([&](json& m) { logits(m)["zero_point"] = 65536; }),
              HasSubstr("zero_point"));
  EXPECT_THAT(complaint([&](json& m) { logits(m)["shape"] = {1, -1}; }), HasSubstr("shape"));
  EXPECT_THAT(complaint([&](json& m) { logits(m)["shape"] = {1 << 30, 1 << 30, 1 << 30}; }),
              HasSubstr("shape"));
  EXPECT_THAT(complaint([&](json& m) { logits(m)["dtype"] = "u7"; }), HasSubstr("u7"));
  EXPECT_THAT(complaint([&](json& m) { m["graphs"][0]["io"]["outputs"].push_back(logits(m)); }),
              HasSubstr("twice"));
}

class ExportFolder : public testing::Test {
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
  const auto complain = [&] { return message_of([&] { check_files(folder_.path(), read); }); };
  write("decode.onnx", "ab");
  EXPECT_THAT(complain(), HasSubstr("expected 3 bytes, found 2"));
  write("decode.onnx", "abd");
  EXPECT_THAT(complain(), HasSubstr("changed"));
  EXPECT_THAT(complain(), HasSubstr(read.files[0].hash));
  std::filesystem::remove(folder_.path() / "decode.onnx");
  EXPECT_THAT(complain(), HasSubstr("decode.onnx"));
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
