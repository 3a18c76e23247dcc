#include "executors/ort/qnn_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// As version 2.7.0 of the provider writes it, shortened.
constexpr const char* kDump = R"({
  "op_types": ["Conv2d", "Convert"],
  "graph": {
    "nodes": {
      "conv": {"package": "qti.aisw", "type": "Conv2d", "input_names": ["x", "w"]},
      "cast": {"package": "qti.aisw", "type": "Convert", "input_names": ["conv_out"]},
      "other": {"package": "qti.aisw", "type": "Conv2d", "input_names": ["cast_out", "w"]}
    },
    "tensors": {
      "x": {"type": 0, "data_type": 1046, "dims": [1, 1, 1, 128]},
      "cache": {"type": 0, "data_type": 1032, "dims": [1, 2, 32, 511]},
      "tokens": {"type": 0, "data_type": 50, "dims": [1, 1]},
      "w": {"type": 4, "data_type": 776, "dims": [1, 1, 128, 128]},
      "conv_out": {"type": 3, "data_type": 1046, "dims": [1, 1, 1, 128]},
      "y": {"type": 1, "data_type": 1046, "dims": [1, 1, 1, 64]}
    }
  }
})";

TEST(QnnDump, CountsOperatorsAndTheBoundary) {
  const CompiledGraph summary = summarize_qnn_dump(kDump, "dump.json");
  EXPECT_THAT(summary.operators, ElementsAre(Pair("Conv2d", 2), Pair("Convert", 1)));
  EXPECT_EQ(summary.operator_count(), 3);
  EXPECT_EQ(summary.boundary_tensors, 4);
  EXPECT_EQ(summary.boundary_bytes, 128 * 2 + 2 * 32 * 511 + 4 + 64 * 2);
}

TEST(QnnDump, RefusesAnotherFile) {
  for (
      const char* text :
      {"", "[]", "{}", R"({"graph": []})", R"({"graph": {"nodes": {}}})",
       R"({"graph": {"nodes": {"a": 1}, "tensors": {}}})",
       R"({"graph": {"nodes": {}, "tensors": {"x": {"type": 0, "data_type": 50, "dims": [-1]}}}})"}) {
    EXPECT_THROW(summarize_qnn_dump(text, "dump.json"), Error) << text;
  }
}

}  // namespace
}  // namespace lathe
