// What is written comes back.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "artifact/container.h"
#include "artifact/read.h"
#include "artifact/small_model.h"
#include "artifact/write.h"
#include "graph/packed_int4.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "support/expect_error.h"
#include "support/safetensors.h"
#include "support/test_files.h"

namespace lathe::testing {
namespace {

const Value& value_named(const Graph& graph, std::string_view name) {
  return graph.value(graph.find(name));
}

TEST(Artifact, GivesBackEveryGraph) {
  const TestFolder folder;
  const Model written = small_model();
  write_model(written, folder / "model.lathe");
  for (const WeightCheck check : {WeightCheck::checksum, WeightCheck::sizes}) {
    const Model read = read_model(folder / "model.lathe", check);
    ASSERT_EQ(read.graphs.size(), 2u);
    for (size_t i = 0; i < read.graphs.size(); ++i) {
      EXPECT_EQ(print_graph(read.graphs[i]), print_graph(written.graphs[i]));
      EXPECT_EQ(value_named(read.graphs[i], "lm_head").encoding,
                value_named(written.graphs[i], "lm_head").encoding);
    }
    EXPECT_EQ(read.graph(GraphRole::prefill).tokens_per_call(), 4);
    EXPECT_EQ(read.find(GraphRole::calibrate), nullptr);
    expect_error([&] { read.graph(GraphRole::calibrate); }, {"no calibrate graph"});
  }
}

TEST(Artifact, GivesBackEverythingElse) {
  const TestFolder folder;
  const Model written = small_model();
  write_model(written, folder / "model.lathe");
  const Model read = read_model(folder / "model.lathe");
  EXPECT_EQ(read.text.tokenizer_json, written.text.tokenizer_json);
  EXPECT_EQ(read.text.tokenizer_config_json, written.text.tokenizer_config_json);
  EXPECT_EQ(read.text.chat_template, written.text.chat_template);
  EXPECT_EQ(read.generation.eos_ids, (std::vector<int64_t>{2, 19}));
  EXPECT_EQ(read.generation.bos_id, 1);
  EXPECT_EQ(read.facts.model_type, "llama");
  EXPECT_EQ(read.facts.vocab_size, 20);
  EXPECT_EQ(read.facts.layers, 1);
  EXPECT_EQ(read.facts.context, 8);
  EXPECT_EQ(read.recipe_json, written.recipe_json);
  EXPECT_EQ(read.provenance.checkpoint_fingerprint, written.provenance.checkpoint_fingerprint);
  EXPECT_EQ(read.provenance.source_name, "tiny");
  EXPECT_EQ(read.provenance.tool_version, "0.1.0");
  EXPECT_EQ(read.provenance.options, written.provenance.options);
}

TEST(Artifact, AModelWithoutTextOrBeginningTokenIsOne) {
  const TestFolder folder;
  Model model = small_model();
  model.text = {};
  model.generation = {};
  write_model(model, folder / "model.lathe");
  const Model read = read_model(folder / "model.lathe");
  EXPECT_EQ(read.text.tokenizer_json, "");
  EXPECT_EQ(read.text.chat_template, "");
  EXPECT_TRUE(read.generation.eos_ids.empty());
  EXPECT_FALSE(read.generation.bos_id.has_value());
}

TEST(Artifact, AFileNameThatIsNotUtf8IsMended) {
  const TestFolder folder;
  Model model = small_model();
  model.provenance.source_name = "tiny\xff";
  write_model(model, folder / "model.lathe");
  EXPECT_EQ(read_model(folder / "model.lathe").provenance.source_name, "tiny\uFFFD");
}

TEST(Artifact, ConstantsPointIntoTheFileAndAreShared) {
  const TestFolder folder;
  const Model written = small_model();
  write_model(written, folder / "model.lathe");
  const Model read = read_model(folder / "model.lathe");
  for (const char* name : {"embed", "table", "lm_head"}) {
    const Constant& before = *value_named(written.graphs[0], name).constant;
    const Constant& constant = *value_named(read.graphs[0], name).constant;
    EXPECT_EQ(constant.name, before.name);
    EXPECT_EQ(constant.layout, before.layout);
    ASSERT_EQ(constant.byte_count, before.byte_count);
    EXPECT_EQ(std::memcmp(constant.bytes.get(), before.bytes.get(),
                          static_cast<size_t>(before.byte_count)),
              0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(constant.bytes.get()) % kSafetensorsAlignment, 0u);
    EXPECT_EQ(&constant, value_named(read.graphs[1], name).constant.get());
  }
}

TEST(Artifact, ConstantsOutliveTheModel) {
  const TestFolder folder;
  write_model(small_model(), folder / "model.lathe");
  const auto constant = value_named(read_model(folder / "model.lathe").graphs[0], "embed").constant;
  EXPECT_EQ(constant->bytes.get()[1], std::byte{7});
}

TEST(Artifact, IsASafetensorsFile) {
  const TestFolder folder;
  write_model(small_model(), folder / "model.lathe");
  const SafetensorsFile file = SafetensorsFile::open(folder / "model.lathe");
  EXPECT_EQ(file.get("model.embed_tokens.weight.u16").shape, (Shape{20, 8}));
  EXPECT_EQ(file.get("model.embed_tokens.weight.u16").type, "U16");
  EXPECT_EQ(file.get("model.embed_tokens.weight.i8").type, "I8");
  EXPECT_EQ(file.get("model.embed_tokens.weight.i8.scale").shape, (Shape{20}));
  EXPECT_EQ(file.get("tokenizer.json").type, "U8");
  const nlohmann::json io = nlohmann::json::parse(file.metadata().at("lathe.io"));
  EXPECT_EQ(io[1]["role"], "prefill");
  EXPECT_EQ(io[1]["outputs"][0]["name"], "logits");
  EXPECT_EQ(io[1]["outputs"][0]["shape"], (std::vector<int>{1, 4, 20}));
}

/// One product with 4-bit weights in blocks.
Model blocked_model() {
  Model model = small_model();
  const auto weight = bytes_constant(
      "lm_head.weight.i4b16",
      std::vector<std::byte>(int4_constant_bytes({20, 32, 16}), std::byte{3}), Layout::packed);
  Graph graph = parse_graph(
      "graph decode ar=1 cl=8\n"
      "  input %x : u16[1, 32]<0.001, 32768>\n"
      "  const %w : i4[20, 32]<per channel 0, blocks of 16>\n"
      "  %linear = aten.linear(%x, %w) : u16[1, 20]<0.003, 30000> @ lm_head\n"
      "  output logits = %linear\n");
  graph.set_constant(graph.find("w"), weight);
  model.graphs = {std::move(graph)};
  return model;
}

TEST(Artifact, KeepsFourBitWeightsInBlocksAsBytes) {
  const TestFolder folder;
  const Model written = blocked_model();
  write_model(written, folder / "model.lathe");
  const Model read = read_model(folder / "model.lathe");
  EXPECT_EQ(print_graph(read.graphs[0]), print_graph(written.graphs[0]));
  EXPECT_EQ(value_named(read.graphs[0], "w").encoding,
            value_named(written.graphs[0], "w").encoding);
  EXPECT_EQ(value_named(read.graphs[0], "w").constant->bytes.get()[0], std::byte{3});
  const SafetensorsFile file = SafetensorsFile::open(folder / "model.lathe");
  EXPECT_EQ(file.get("lm_head.weight.i4b16").type, "U8");
  EXPECT_EQ(file.get("lm_head.weight.i4b16").shape,
            (Shape{static_cast<int64_t>(int4_constant_bytes({20, 32, 16}))}));
}

TEST(Artifact, KeepsTheWindowOfSlidingLayers) {
  const TestFolder folder;
  Model written = blocked_model();
  written.graphs = {
      parse_graph("graph decode ar=1 cl=8 w=4\n"
                  "  input %logits : u16[1, 20]<0.003, 30000>\n"
                  "  output logits = %logits\n")};
  write_model(written, folder / "model.lathe");
  EXPECT_EQ(read_model(folder / "model.lathe").graphs[0].window(), 4);
}

TEST(Artifact, RefusesBlocksThatTheWeightCannotHave) {
  const TestFolder folder;
  write_model(blocked_model(), folder / "model.lathe");
  const auto refuse = [&](const nlohmann::json& encoding, const std::string& part) {
    repack(folder / "model.lathe", folder / "changed.lathe", [&](Metadata& metadata) {
      nlohmann::json graphs = nlohmann::json::parse(metadata.at("lathe.graphs"));
      for (nlohmann::json& item : graphs["encodings"]) {
        if (item[0] == "i4") item = encoding;
      }
      metadata["lathe.graphs"] = graphs.dump();
    });
    expect_error([&] { read_model(folder / "changed.lathe"); }, {"changed.lathe", part});
  };
  const std::string scales = "lm_head.weight.i4b16.scale";
  refuse({"i4", scales, 0, 0, 64}, "blocks");
  refuse({"i4", scales, 0, 0, 24}, "blocks");
  refuse({"i4", scales, 1, 0, 16}, "blocks");
  refuse({"i4", scales, 0, 0, 0}, "out of range");
  refuse({"i4", scales, 0, 0, 16, 16}, "too long");
  refuse({"i4", 0.5, 0, 16}, "blocks");
  refuse({"i4", scales, 0, 0}, "wrong size");  // no blocks: fewer bytes
}

TEST(Artifact, TheSameModelGivesTheSameBytes) {
  const TestFolder folder;
  write_model(small_model(), folder / "a.lathe");
  write_model(small_model(), folder / "b.lathe");
  write_model(read_model(folder / "a.lathe"), folder / "c.lathe");
  EXPECT_EQ(read_bytes(folder / "a.lathe"), read_bytes(folder / "b.lathe"));
  EXPECT_EQ(read_bytes(folder / "a.lathe"), read_bytes(folder / "c.lathe"));
}

TEST(Artifact, DeadNodesAreLeftOut) {
  const TestFolder folder;
  Model model = small_model();
  for (Graph& graph : model.graphs) {
    const ValueId scaled = graph.find("scaled");
    const ValueId copy = graph.insert_after(
        graph.producer(scaled)->id, {.op = Op::alias, .inputs = {scaled}, .name = "unused"});
    graph.set_value_type(copy, DType::u16, graph.value(scaled).encoding);
    graph.remove_dead();
  }
  write_model(model, folder / "a.lathe");
  const Model read = read_model(folder / "a.lathe");
  EXPECT_EQ(read.graphs[0].find("unused"), kNone);
  EXPECT_EQ(print_graph(read.graphs[1]), print_graph(model.graphs[1]));
}

TEST(Artifact, RefusesToWriteWhatCannotBeRead) {
  const TestFolder folder;
  const auto refuse = [&](const std::function<void(Model&)>& change, std::string part) {
    Model model = small_model();
    change(model);
    expect_error([&] { write_model(model, folder / "model.lathe"); }, {part});
    EXPECT_FALSE(std::filesystem::exists(folder / "model.lathe"));
  };
  refuse([](Model& m) { m.graphs.clear(); }, "wrong number of graphs");
  refuse([](Model& m) { m.facts.vocab_size = 0; }, "vocab_size");
  refuse([](Model& m) { m.generation.eos_ids = {20}; }, "eos_token_id");
  refuse([](Model& m) { m.recipe_json = "{"; }, "recipe");
  refuse([](Model& m) { m.provenance.source_name = "/home/me/tiny"; }, "path");
  refuse([](Model& m) { m.graphs[0].rename(0, "\xff"); }, "not UTF-8");
  refuse([](Model& m) { m.graphs[0].rename(0, m.graphs[0].value(1).name); }, "no name of its own");
  refuse(
      [](Model& m) {
        m.graphs[1].set_constant(
            m.graphs[1].find("embed"),
            bytes_constant("model.embed_tokens.weight.u16", std::vector<std::byte>(320)));
      },
      "two constants of one name differ");
  refuse(
      [](Model& m) {
        m.graphs[0].set_constant(m.graphs[0].find("table"),
                                 bytes_constant("short", std::vector<std::byte>(15)));
      },
      "wrong size");
  refuse(
      [](Model& m) {
        for (Graph& graph : m.graphs) {
          graph.set_constant(graph.find("table"),
                             bytes_constant("tokenizer.json", std::vector<std::byte>(16)));
        }
      },
      "cannot be used, or not twice");
  refuse(
      [](Model& m) {
        m.graphs[0].set_value_type(m.graphs[0].find("lm_head"), DType::i8,
                                   Encoding{DType::i8, {1.0f, 0.0f}, 0, 0});
      },
      "wrong number of scales");
  refuse(
      [](Model& m) {
        m.graphs[0].set_constant(m.graphs[0].find("table"),
                                 float_constant("table", std::vector<float>(8)));
      },
      "only integer constants");
}

/// No file of this process may grow beyond `bytes`: what a full disk is to a program.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(Artifact, AFailedWriteLeavesTheOldFile) {
  const TestFolder folder;
  const std::filesystem::path path = folder.write("model.lathe", "the old file");
  {
    const FileSizeLimit limit(2000);
    expect_error([&] { write_model(small_model(), path); }, {"model.lathe", "File too large"});
  }
  EXPECT_EQ(read_bytes(path), "the old file");
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace lathe::testing
