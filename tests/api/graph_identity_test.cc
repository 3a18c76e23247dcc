#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "artifact/read.h"
#include "graph/diff.h"
#include "lathe/compile.h"
#include "support/test_files.h"

// The graph that the passes make of Hugging Face's is the graph that was built by hand: every node,
// every attribute, every encoding and every weight.

namespace lathe {
namespace {

using testing::TestFolder;

struct Case {
  const char* name;
  std::string source;
  std::function<void(CompileOptions&)> choose;
};

void PrintTo(const Case& given, std::ostream* out) { *out << given.name; }

class GraphIdentity : public ::testing::TestWithParam<Case> {
 protected:
  Model compiled(const std::string& variant) const {
    CompileOptions options;
    options.variant = variant;
    options.context = 64;
    options.calibration_tokens = 64;
    GetParam().choose(options);
    const std::filesystem::path path = folder_ / (variant + ".lathe");
    compile(GetParam().source, path, options);
    return read_model(path, WeightCheck::sizes);
  }

 private:
  TestFolder folder_;
};

TEST_P(GraphIdentity, HfIsStatic) {
  const Model hf = compiled("hf");
  const Model by_hand = compiled("static");
  for (const GraphRole role : {GraphRole::decode, GraphRole::prefill}) {
    const GraphDiff found = diff(hf.graph(role), by_hand.graph(role));
    const GraphDifference difference = found.difference.value_or(GraphDifference{});
    EXPECT_EQ(found.relation, GraphRelation::isomorphic)
        << name_of(role) << ": " << difference.what << "\n"
        << difference.first << "\n"
        << difference.second;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Llama, GraphIdentity,
    ::testing::Values(
        Case{"as_the_recipe_says", "tiny", [](CompileOptions&) {}},
        Case{"r3", "tiny", [](CompileOptions& options) { options.r3 = true; }},
        Case{"per_head_attention", "tiny", [](CompileOptions& options) { options.target = "htp"; }},
        Case{"r3_and_per_head_attention", "tiny",
             [](CompileOptions& options) {
               options.r3 = true;
               options.target = "htp";
             }},
        Case{"caches_of_16_bits", "tiny", [](CompileOptions& options) { options.kv_bits = 16; }},
        Case{"weights_of_4_bits_in_blocks", "tiny",
             [](CompileOptions& options) {
               options.quant = "16a4w_block";
               options.block = 32;
             }},
        Case{"another_checkpoint", LATHE_TEST_DATA "/tiny/llama", [](CompileOptions&) {}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lathe
