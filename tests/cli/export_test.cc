// `lathe export`, and what the other commands make of its folder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/checkpoint_folder.h"
#include "cli/program.h"
#include "cli/small_model.h"
#include "support/ort_test.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using testing::contents;
using testing::expect_refused;
using testing::expect_wrong_usage;
using ::testing::HasSubstr;
using testing::json_output;
using testing::keys;
using testing::lathe;
using testing::lathe_output;
using testing::Outcome;
using testing::read_bytes;
using testing::small_model;
using testing::small_source;
using testing::Surroundings;
using testing::TestFolder;

Outcome export_onnx(const std::string& output, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"export", small_model(), "--format", "onnx", "-o", output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return lathe(arguments);
}

Outcome export_htp(const std::string& output, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"export", small_model(), "--format", "htp", "-o", output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return lathe(arguments);
}

std::vector<std::string> run_arguments(const fs::path& model, const std::string& executor) {
  return {"run", model.string(), "--executor", executor, "--prompt", "She walked", "-n", "8"};
}
Outcome run(const fs::path& model, const std::string& executor) {
  return lathe(run_arguments(model, executor));
}

std::string small_text() {
  static const TestFolder folder;
  return folder.write("text.txt", "She walked up to her").string();
}

/// An export to be broken. Format onnx needs nothing but Lathe.
class ExportedFolder {
 public:
  ExportedFolder() { EXPECT_EQ(export_onnx(path().string()).exit_code, 0); }

  fs::path path() const { return folder_ / "exported"; }
  fs::path file(const std::string& name) const { return path() / name; }
  void write(const std::string& name, const std::string& bytes) const {
    folder_.write("exported/" + name, bytes);
  }
  void change_manifest(const std::function<void(nlohmann::json&)>& change) const {
    auto manifest = nlohmann::json::parse(read_bytes(file("lathe.json")));
    change(manifest);
    write("lathe.json", manifest.dump());
  }

 private:
  TestFolder folder_;
};

// --- what works

using ExportToHtp = testing::OrtTest;

// The way that README.md shows.
TEST_F(ExportToHtp, WritesTheTokensOfTheReference) {
  const TestFolder folder;
  const std::string artifact = (folder / "tiny.lathe").string();
  const std::string exported = (folder / "tiny-sm8750").string();
  lathe_output({"compile", "tiny", "-o", artifact});
  const std::string line =
      lathe_output({"export", artifact, "--format", "htp", "--soc", "SM8750", "-o", exported});
  EXPECT_THAT(line, HasSubstr(exported));
  EXPECT_EQ(lathe_output(run_arguments(exported, "htp")),
            lathe_output(run_arguments(artifact, "reference")));
}

TEST_F(ExportToHtp, ShowsWhatTheChipGets) {
  const TestFolder folder;
  const std::string exported = (folder / "exported").string();
  const Outcome made =
      export_htp(exported, {"--soc", "v79", "--graph-dump", (folder / "dump").string()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // The estimate comes before the compiler starts.
  EXPECT_THAT(made.err, HasSubstr("MB that a graph may have"));
  EXPECT_TRUE(fs::exists(folder / "dump/decode.json"));

  const std::string text = lathe_output({"inspect", exported});
  for (const char* words :
       {"chip SM8750: id 69, HTP V79", "onnxruntime-qnn 2.7.0", "operators on the chip: ", "Conv2d",
        "cross its boundary", "context.bin"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  const ordered_json json = json_output({"inspect", exported, "--json"});
  EXPECT_EQ(json["chip"]["name"], "SM8750");
  for (const auto& graph : json["graphs"]) {
    EXPECT_GT(graph["parts"][0]["compiled"]["operators"]["Conv2d"], 0);
    EXPECT_GT(graph["parts"][0]["compiled"]["boundary_bytes"], 0);
  }

  // Another chip, and what another version made.
  std::vector<std::string> elsewhere = run_arguments(exported, "htp");
  elsewhere.insert(elsewhere.end(), {"--soc", "SM8650"});
  expect_refused(lathe(elsewhere), {exported, "another chip", "SM8750", "SM8650"});
  const auto whole = nlohmann::json::parse(read_bytes(folder / "exported/lathe.json"));
  auto manifest = whole;
  manifest["versions"]["onnxruntime-qnn"] = "2.6.0";
  folder.write("exported/lathe.json", manifest.dump());
  expect_refused(run(exported, "htp"), {exported, "expected 2.6.0", "found 2.7.0"});
  manifest = whole;
  const std::string sdk = manifest["versions"]["qnn"];
  manifest["versions"]["qnn"] = "2.31.0";
  folder.write("exported/lathe.json", manifest.dump());
  expect_refused(run(exported, "htp"), {exported, "version of qnn", "expected 2.31.0", sdk});
  manifest = whole;
  manifest["chip"]["arch"] = 75;
  folder.write("exported/lathe.json", manifest.dump());
  expect_refused(run(exported, "htp"), {exported, "another chip", "V75", "V79"});
}

TEST_F(ExportToHtp, ACutContextIsRefused) {
  const TestFolder folder;
  const std::string exported = (folder / "exported").string();
  ASSERT_EQ(export_htp(exported, {"--soc", "SM8750"}).exit_code, 0);
  const fs::path context = folder / "exported/context.bin";
  const uintmax_t size = fs::file_size(context);
  fs::resize_file(context, size / 2);
  expect_refused(run(exported, "htp"),
                 {"context.bin", std::to_string(size), std::to_string(size / 2)});
  fs::remove(context);
  expect_refused(run(exported, "htp"), {"context.bin"});
}

TEST_F(ExportToHtp, LayersAreComparedWithTheReference) {
  std::vector<std::string> arguments{"eval",     small_model(), "--text", small_text(),
                                     "--layers", "--tokens",    "2",      "--executor",
                                     "htp",      "--soc",       "SM8750"};
  const std::string text = lathe_output(arguments);
  EXPECT_THAT(text, HasSubstr("htp against reference, 2 tokens"));
  EXPECT_THAT(text, HasSubstr("model.layers.2"));
  EXPECT_THAT(text, HasSubstr("lm_head"));
  arguments.push_back("--json");
  const ordered_json json = json_output(arguments);
  EXPECT_EQ(json["tokens"], 2);
  // Three layers and the logits.
  EXPECT_GE(json["layers"].size(), 4);
  EXPECT_EQ(keys(json["layers"][0]),
            (std::vector<std::string>{"name", "module", "operator", "sqnr_db", "worst_codes"}));
}

using ExportToOnnx = testing::OrtTest;

TEST_F(ExportToOnnx, IsAModelForEveryCommand) {
  const ExportedFolder exported;
  const std::string model = exported.path().string();
  EXPECT_EQ(lathe_output(run_arguments(model, "ort")),
            lathe_output(run_arguments(small_model(), "reference")));
  EXPECT_EQ(lathe_output({"tokenize", model, "--text", "She walked"}),
            lathe_output({"tokenize", small_model(), "--text", "She walked"}));
  const TestFolder folder;
  const std::string logits = (folder / "logits.safetensors").string();
  lathe_output({"logits", model, "--executor", "ort", "--ids", "1,2,3", "-o", logits});
  EXPECT_GT(fs::file_size(logits), 3 * testing::kVocab * sizeof(float));
  EXPECT_THAT(lathe_output({"eval", model, "--executor", "ort", "--text", small_text()}),
              HasSubstr("perplexity"));
  // What is compared with runs here, whatever runs the model.
  EXPECT_THAT(lathe_output({"eval", model, "--executor", "ort", "--text", small_text(), "--against",
                            small_model()}),
              HasSubstr("against " + small_model()));
}

TEST_F(ExportToHtp, AFullDiskLeavesNothing) {
  const TestFolder folder;
  const std::string output = (folder / "exported").string();
  // Too little for the ONNX files; enough for them, but not for the context binary.
  for (const size_t room : {size_t{4096}, size_t{300'000}}) {
    SCOPED_TRACE(room);
    Surroundings around;
    around.file_size_limit = room;
    expect_refused(
        lathe({"export", small_model(), "--format", "htp", "--soc", "SM8750", "-o", output},
              around),
        {output, "write"});
    EXPECT_TRUE(contents(folder.path()).empty());
  }
}

// --- what needs no ONNX Runtime

TEST(ExportCommand, Json) {
  const TestFolder folder;
  const std::string output = (folder / "exported").string();
  const ordered_json report =
      json_output({"export", small_model(), "--format", "onnx", "-o", output, "--json"});
  EXPECT_EQ(keys(report), (std::vector<std::string>{"seconds", "peak_rss_bytes", "folder_bytes",
                                                    "context_bytes", "weight_bytes", "shards"}));
  int64_t bytes = 0;
  for (const auto& [name, text] : contents(output)) bytes += static_cast<int64_t>(text.size());
  EXPECT_EQ(report["folder_bytes"], bytes);
  const ordered_json manifest = json_output({"inspect", output, "--json"});
  EXPECT_EQ(manifest["format"], "onnx");
  EXPECT_EQ(manifest["graphs"].size(), 2);
}

TEST(ExportCommand, ReplacesAnEarlierExport) {
  const ExportedFolder exported;
  const auto before = contents(exported.path());
  exported.write("decode.onnx", "damaged");
  EXPECT_EQ(export_onnx(exported.path().string() + "/").exit_code, 0);
  EXPECT_EQ(contents(exported.path()), before);
}

TEST(BadExport, Options) {
  const TestFolder folder;
  const std::string output = (folder / "exported").string();
  expect_refused(export_htp(output), {"--format htp needs a chip", "--soc SM8750"});
  expect_refused(export_htp(output, {"--soc", "SM9999"}),
                 {"unknown chip", "SM9999", "SM8750", "v79"});
  expect_refused(export_onnx(output, {"--soc", "SM8750"}), {"--soc is for --format htp"});
  expect_refused(export_onnx(output, {"--graph-dump", output}),
                 {"--graph-dump is for --format htp"});
  expect_refused(export_htp(output, {"--soc", "SM8750", "--graph-dump", small_model()}),
                 {small_model(), "cannot make the folder"});
  expect_refused(export_onnx(output, {"--shards", "4"}), {"1 to 3", "found 4"});
  expect_wrong_usage(export_htp(output, {"--soc", "SM8750", "--optimization", "4"}),
                     {"--optimization", "4"});
  expect_wrong_usage(export_onnx(output, {"--shards", "0"}), {"--shards", "0"});
  expect_wrong_usage(export_onnx(output, {"--embedding", "disk"}), {"--embedding", "disk"});
  expect_wrong_usage(lathe({"export", small_model(), "--format", "dlc", "-o", output}),
                     {"--format", "dlc"});
  expect_wrong_usage(lathe({"export", small_model(), "-o", output}), {"--format"});
  EXPECT_TRUE(contents(folder.path()).empty());
}

// An option that would do nothing is an error, not silence.
TEST(BadExport, OptionsOfAChipNeedOne) {
  const TestFolder folder;
  const std::string output = (folder / "exported").string();
  expect_wrong_usage(export_onnx(output, {"--optimization", "2"}), {"--optimization", "--soc"});
  expect_wrong_usage(export_onnx(output, {"--no-simulator"}), {"--no-simulator", "--soc"});
  EXPECT_TRUE(contents(folder.path()).empty());
}

TEST(BadExecutor, AChipIsForTheHtp) {
  for (const std::string executor : {"cpu", "reference", "ort"}) {
    std::vector<std::string> arguments = run_arguments(small_model(), executor);
    arguments.insert(arguments.end(), {"--soc", "SM8750"});
    expect_refused(lathe(arguments), {"--soc", "--executor htp", executor});
  }
}

TEST(BadExecutor, ACheckpointRunsInFloat) {
  for (const std::string executor : {"ort", "htp"}) {
    expect_refused(lathe({"eval", small_source(), "--executor", executor, "--text", small_text()}),
                   {small_source(), "cpu or reference", executor});
  }
}

TEST(BadExecutor, LayersAreOfOneText) {
  for (const std::string option : {"--against", "--context", "--stride"}) {
    expect_wrong_usage(lathe({"eval", small_model(), "--executor", "ort", "--layers", "--text",
                              small_text(), option, "8"}),
                       {"--layers", option});
  }
}

TEST(BadExport, OfWhatIsNoArtifact) {
  const TestFolder folder;
  for (const std::string& model : {testing::small_source(), std::string("no/such.lathe")}) {
    expect_refused(lathe({"export", model, "--format", "onnx", "-o", (folder / "out").string()}),
                   {model});
  }
  EXPECT_TRUE(contents(folder.path()).empty());
}

TEST(BadExport, ToAFolderOfOtherFiles) {
  const TestFolder folder;
  folder.write("letter.txt", "Dear sister");
  expect_refused(export_onnx(folder.path().string()),
                 {folder.path().string(), "holds other files", "a folder of its own"});
  EXPECT_EQ(contents(folder.path()),
            (std::map<std::string, std::string>{{"letter.txt", "Dear sister"}}));
  expect_refused(export_onnx((folder / "letter.txt").string()), {"letter.txt", "a file"});
  expect_refused(export_onnx((folder / "no/such").string()), {"no/such"});
  expect_refused(export_onnx("/dev/full"), {"/dev/full"});
}

TEST(BadExport, AFullDiskLeavesThePreviousExport) {
  const ExportedFolder exported;
  const auto before = contents(exported.path());
  const uintmax_t largest = fs::file_size(exported.file("weights.bin"));
  for (const size_t room : {size_t{4096}, static_cast<size_t>(largest - 1)}) {
    SCOPED_TRACE(room);
    Surroundings around;
    around.file_size_limit = room;
    expect_refused(
        lathe({"export", small_model(), "--format", "onnx", "-o", exported.path().string()},
              around),
        {"cannot write", exported.path().string()});
    EXPECT_EQ(contents(exported.path()), before);
    // Nothing beside it either.
    const auto beside = fs::directory_iterator(exported.path().parent_path());
    EXPECT_EQ(std::distance(fs::begin(beside), fs::end(beside)), 1);
  }
}

TEST(BadExport, WithoutOnnxRuntimeTheRestWorks) {
  const TestFolder nothing;
  const TestFolder folder;
  Surroundings around;
  around.environment = {"LATHE_ORT_DIR=" + nothing.path().string()};
  const std::string output = (folder / "exported").string();
  expect_refused(
      lathe({"export", small_model(), "--format", "htp", "--soc", "SM8750", "-o", output}, around),
      {"ONNX Runtime", "scripts/get-ort"});
  EXPECT_TRUE(contents(folder.path()).empty());
  expect_refused(lathe(run_arguments(small_model(), "ort"), around),
                 {"ONNX Runtime", "scripts/get-ort"});
  EXPECT_EQ(lathe(run_arguments(small_model(), "cpu"), around).exit_code, 0);
  const Outcome onnx = lathe({"export", small_model(), "--format", "onnx", "-o", output}, around);
  EXPECT_EQ(onnx.exit_code, 0) << onnx.err;
  EXPECT_EQ(lathe({"inspect", output}, around).exit_code, 0);
  EXPECT_EQ(lathe({"tokenize", output, "--text", "a"}, around).exit_code, 0);
}

TEST(BadExportFolder, RunsOnItsOwnExecutor) {
  const ExportedFolder exported;
  for (const char* executor : {"cpu", "reference", "htp"}) {
    expect_refused(run(exported.path(), executor),
                   {exported.path().string(), "expected --executor ort", executor});
  }
  expect_refused(run(small_model(), "htp"), {small_model(), "lathe export MODEL --format htp"});
}

TEST(BadExportFolder, IsOfAnotherVersion) {
  const ExportedFolder exported;
  exported.change_manifest([](nlohmann::json& manifest) { manifest["format_version"] = 99; });
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           run_arguments(exported.path(), "ort"), {"inspect", exported.path().string()}}) {
    expect_refused(lathe(command),
                   {"lathe.json", "expected 1, found 99", "export the model again"});
  }
}

// The files are as they were; what is told about them is not.
TEST_F(ExportToOnnx, AnotherContextIsRefused) {
  const ExportedFolder exported;
  const std::string manifest = read_bytes(exported.file("lathe.json"));
  const auto told = nlohmann::json::parse(manifest);
  const int64_t context = told["model"]["context"];
  const auto refuse = [&](const std::function<void(nlohmann::json&)>& change,
                          const std::vector<std::string>& words) {
    exported.write("lathe.json", manifest);
    exported.change_manifest(change);
    expect_refused(run(exported.path(), "ort"), words);
  };
  refuse([&](nlohmann::json& m) { m["model"]["context"] = 2 * context; },
         {"lathe.json", "another context"});
  const auto change_all = [&](nlohmann::json& m) {
    m["model"]["context"] = 2 * context;
    for (nlohmann::json& graph : m["graphs"]) {
      graph["io"]["context"] = 2 * context;
      for (nlohmann::json& part : graph["parts"]) part["io"]["context"] = 2 * context;
    }
  };
  refuse(change_all, {"attention_mask", "wrong shape"});
  // With shapes to go with it, it contradicts the graph in the file.
  refuse(
      [&](nlohmann::json& m) {
        change_all(m);
        const auto widen = [&](nlohmann::json& io) {
          for (nlohmann::json& tensor : io["inputs"]) {
            for (nlohmann::json& size : tensor["shape"]) {
              if (size >= context / 2) size = size.get<int64_t>() + context;
            }
          }
        };
        for (nlohmann::json& graph : m["graphs"]) {
          widen(graph["io"]);
          for (nlohmann::json& part : graph["parts"]) widen(part["io"]);
        }
      },
      {".onnx", "another tensor than the contract"});
}

TEST_F(ExportToOnnx, AChangedFileIsRefused) {
  const ExportedFolder exported;
  const std::string decode = read_bytes(exported.file("decode.onnx"));
  const auto refuse = [&](const std::vector<std::string>& words) {
    expect_refused(run(exported.path(), "ort"), words);
  };
  std::string altered = decode;
  altered[altered.size() / 2] ^= 0x40;
  exported.write("decode.onnx", altered);
  refuse({"decode.onnx", "changed", "export the model again"});
  exported.write("decode.onnx", decode.substr(0, decode.size() / 2));
  refuse({"decode.onnx", std::to_string(decode.size()), std::to_string(decode.size() / 2)});
  fs::remove(exported.file("decode.onnx"));
  refuse({"decode.onnx"});
  exported.write("decode.onnx", decode);
  exported.write("tokenizer.json", "{}");
  refuse({"tokenizer.json"});
}

TEST(BadExportFolder, HasAManifestThatIsNone) {
  const ExportedFolder exported;
  const std::string manifest = read_bytes(exported.file("lathe.json"));
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("\xff"), manifest.substr(0, 500)}) {
    SCOPED_TRACE(text);
    exported.write("lathe.json", text);
    expect_refused(run(exported.path(), "ort"), {"lathe.json"});
    expect_refused(lathe({"inspect", exported.path().string()}), {"lathe.json"});
  }
}

}  // namespace
}  // namespace lathe
