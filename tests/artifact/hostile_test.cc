// Files with checksums that are right and contents that are not: each is refused with one line.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "artifact/read.h"
#include "artifact/small_model.h"
#include "artifact/write.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe::testing {
namespace {

using Json = nlohmann::json;

class Hostile : public ::testing::Test {
 protected:
  Hostile() { write_model(small_model(), path_); }

  void refuse(const std::function<void(Metadata&)>& change, const std::string& part) const {
    repack(path_, folder_ / "changed.lathe", change);
    expect_error([&] { read_model(folder_ / "changed.lathe"); },
                 {"changed.lathe: ", part, "compile the model again"});
  }

  /// `path` is a JSON pointer into the graphs' JSON: "/graphs/0/nodes/0/3".
  void refuse_graphs(const std::string& path, const Json& content, const std::string& part) const {
    refuse(
        [&](Metadata& metadata) {
          Json graphs = Json::parse(metadata.at("lathe.graphs"));
          graphs.at(Json::json_pointer(path)) = content;
          metadata["lathe.graphs"] = graphs.dump();
        },
        part);
  }

  TestFolder folder_;
  std::filesystem::path path_ = folder_ / "model.lathe";
};

TEST_F(Hostile, RepackedAsItWasItOpens) {
  repack(path_, folder_ / "same.lathe", [](Metadata&) {});
  EXPECT_EQ(read_model(folder_ / "same.lathe").graphs.size(), 2u);
}

TEST_F(Hostile, MissingAndMalformedEntries) {
  for (const char* key :
       {"lathe.graphs", "lathe.io", "lathe.model", "lathe.recipe", "lathe.provenance"}) {
    refuse([&](Metadata& metadata) { metadata.erase(key); }, "missing");
    refuse([&](Metadata& metadata) { metadata[key] = "["; }, "");
    refuse([&](Metadata& metadata) { metadata[key] = "7"; }, "");
  }
  refuse([](Metadata& metadata) { metadata["lathe.io"] = "[]"; }, "IO contract");
}

TEST_F(Hostile, Facts) {
  const auto refuse_facts = [&](const char* key, const Json& content) {
    refuse(
        [&](Metadata& metadata) {
          Json facts = Json::parse(metadata.at("lathe.model"));
          facts[key] = content;
          metadata["lathe.model"] = facts.dump();
        },
        key);
  };
  refuse_facts("vocab_size", 0);
  refuse_facts("vocab_size", "20");
  refuse_facts("context", int64_t{1} << 40);
  refuse_facts("context", 16);  // of graphs for 8
  refuse_facts("layers", -1);
  refuse_facts("model_type", nullptr);
}

TEST_F(Hostile, Tables) {
  refuse_graphs("/operators/0", "aten.explode", "unknown operator");
  refuse_graphs("/operators", Json::object(), "operators");
  refuse_graphs("/modules/0", 1, "a string");
  refuse_graphs("/modules/0", std::string(257, 'x'), "too long");
  refuse_graphs("/constants/0/0", "nothing", "the tensor is missing");
  refuse_graphs("/constants/0/1", "upside down", "unknown layout");
  refuse_graphs("/constants/0", Json::array(), "too short");
  refuse_graphs("/constants/0", {"a", "b", "c"}, "unknown layout");
}

TEST_F(Hostile, Encodings) {
  for (const Json& scale : {Json(0.0), Json(-1.0), Json(1e300), Json(nullptr), Json("nothing"),
                            Json("tokenizer.json")}) {
    refuse_graphs("/encodings/0/1", scale, "encodings[0]");
  }
  refuse_graphs("/encodings/0/0", "f32", "another type");
  refuse_graphs("/encodings/0/0", "u3", "unknown element type");
  refuse_graphs("/encodings/0/2", 1000, "zero point");
  refuse_graphs("/encodings/0/2", int64_t{1} << 40, "out of range");
}

TEST_F(Hostile, Boundaries) {
  refuse_graphs("/graphs", Json::array(), "no graph");
  refuse_graphs("/graphs", Json(std::vector<int>(100)), "at most 16");
  refuse_graphs("/graphs/0/role", "paint", "unknown graph role");
  refuse_graphs("/graphs/0/context", 0, "out of range");
  refuse_graphs("/graphs/0/tokens_per_call", 9, "out of range");
  refuse_graphs("/graphs/0/window", 8, "window out of range");
  refuse_graphs("/graphs/0/inputs/0/1", "f32", "ids are not integers");
  refuse_graphs("/graphs/0/inputs/1/3", -1, "codes without an encoding");
  refuse_graphs("/graphs/0/inputs/0/2", {1, -1}, "out of range");
  refuse_graphs("/graphs/0/inputs/0/2", {1, 1.5}, "out of range");
  refuse_graphs("/graphs/0/inputs/0/2", {1 << 30, 1 << 30, 1 << 30}, "impossible shape");
  refuse_graphs("/graphs/0/inputs/0/2", std::vector<int>(9, 1), "too long");
  refuse_graphs("/graphs/0/inputs/0/3", 99, "out of range");
  refuse_graphs("/graphs/0/inputs/0/0", "k_cache_0", "no name of its own");
  refuse_graphs("/graphs/0/outputs/0/1", -1, "out of range");
  refuse_graphs("/graphs/0/outputs/0/1", 100, "out of range");
  refuse_graphs("/graphs/0/outputs/0/0", "k_new_0", "named twice");
}

TEST_F(Hostile, Constants) {
  refuse_graphs("/graphs/0/constants/0/1", 3, "out of range");
  refuse_graphs("/graphs/0/constants/0/2", "i32", "another type");
  refuse_graphs("/graphs/0/constants/0/3", {19, 8}, "wrong size");
  refuse_graphs("/graphs/0/constants/2/3", {21, 8}, "wrong");
  refuse_graphs("/graphs/0/constants/2/3", {160}, "the weight does not fit");
  refuse_graphs("/constants/2/1", "rows", "wrong size");
  refuse_graphs("/graphs/0/constants/2/4", -1, "codes without an encoding");
}

TEST_F(Hostile, Nodes) {
  const std::string node = "/graphs/0/nodes/";
  refuse_graphs(node + "0/0", 50, "out of range");
  refuse_graphs(node + "0/1", -1, "out of range");
  refuse_graphs(node + "0/2", "", "no name of its own");
  refuse_graphs(node + "0/2", "tokens", "no name of its own");
  refuse_graphs(node + "0/3", -2, "out of range");
  refuse_graphs(node + "0/4", {2, 5}, "out of range");  // its own output
  refuse_graphs(node + "0/4", {2, -1}, "out of range");
  refuse_graphs(node + "0/4", {2}, "wrong number of inputs");
  refuse_graphs(node + "0/4", std::vector<int>(2000, 0), "too long");
  refuse_graphs(node + "2", {1, 0, "scaled", 2, {6}, "other"}, "too short");
  refuse_graphs(node + "2", {1, 0, "scaled", 2, {6}}, "missing");
  refuse_graphs(node + "2", {1, 0, "scaled", 2, {6}, "other", "text"}, "another type");
  refuse_graphs(node + "2", {1, 0, "scaled", 2, {6}, "other", 1.5, "other", 1.5}, "twice");
  refuse_graphs(node + "4/6", {1 << 30, 1 << 30, 1 << 30, -1}, "impossible shape");
  refuse_graphs(node + "4/6", {INT64_MIN, 1}, "out of range");
  refuse_graphs(node + "4/6", {1, 1, 1, 9}, "number of elements");
  refuse_graphs(node + "5/6", INT64_MIN, "out of range");
  refuse_graphs(node + "5/6", 18446744073709551615u, "out of range");
}

}  // namespace
}  // namespace lathe::testing
