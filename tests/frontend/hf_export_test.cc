// The graph of the hf frontend against what torch.export records from Hugging Face's own modeling
// code (tests/data/hf_export, torch 2.15, transformers 5.24): every operator, in order.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "graph/operators.h"
#include "graph/verifier.h"

namespace lathe {
namespace {

const std::filesystem::path kData = LATHE_TEST_DATA;
const std::filesystem::path kRecordings = kData / "hf_export";

struct Row {
  std::string name;
  std::string op;
  std::string shape;
  std::string module;
  bool operator==(const Row&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.name << " = " << row.op << " " << row.shape << " @ " << row.module;
}

/// "aten.add.Tensor" -> "aten.add"
std::string without_overload(const std::string& op) { return op.substr(0, op.rfind('.')); }

/// Every row of what was recorded for a family, by the names that Lathe has for things.
std::vector<Row> recorded(const std::string& family) {
  std::ifstream file(kRecordings / (family + ".eager.tsv"));
  std::string line;
  std::getline(file, line);  // the column names
  std::vector<Row> rows;
  bool behind_the_head = false;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Row row;
    std::getline(fields, row.name, '\t');
    std::getline(fields, row.op, '\t');
    std::getline(fields, row.shape, '\t');
    std::getline(fields, row.module, '\t');
    row.op =
        row.op == "<built-in function getitem>" ? "operator.getitem" : without_overload(row.op);
    // The recording wraps the model in another module, which only the head and what stands behind
    // it still show.
    if (row.module == "model.lm_head") {
      row.module = "lm_head";
      behind_the_head = true;
    } else if (behind_the_head && row.module == "model") {
      row.module = "";
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<Row> rows_of(const Graph& graph) {
  std::vector<Row> rows;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const Value& value = graph.value(node.output());
    std::string shape = "[";
    for (size_t i = 0; i < value.shape.size(); ++i) {
      shape += (i > 0 ? "x" : "") + std::to_string(value.shape[i]);
    }
    // A list of tensors has no shape in the recordings.
    if (node.op == Op::chunk) shape = "[-";
    rows.push_back({value.name, std::string(rule_of(node.op).name), shape + "]", node.module});
  }
  return rows;
}

/// "llama" for tests/data/hf_export/llama.eager.tsv: there is a checkpoint of that name.
std::vector<std::string> recorded_families() {
  const std::string ending = ".eager.tsv";
  std::vector<std::string> families;
  for (const auto& entry : std::filesystem::directory_iterator(kRecordings)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending)) families.push_back(name.substr(0, name.size() - ending.size()));
  }
  std::sort(families.begin(), families.end());
  return families;
}

class HfExport : public ::testing::TestWithParam<std::string> {
 protected:
  static Graph build(GraphRole role, int64_t tokens, int64_t context) {
    return build_hf_graph(Checkpoint::open(kData / "tiny" / GetParam()), {role, tokens, context});
  }
};

TEST_P(HfExport, HasTheRecordedOperatorsInOrder) {
  const std::vector<Row> expected = recorded(GetParam());
  ASSERT_GT(expected.size(), 150u);
  const std::vector<Row> found = rows_of(build(GraphRole::decode, 1, 64));
  for (size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    ASSERT_EQ(found[i], expected[i]) << "row " << i;
  }
  EXPECT_EQ(found.size(), expected.size());
}

TEST_P(HfExport, GraphsOfAllRolesPassTheVerifier) {
  verify(build(GraphRole::decode, 1, 64));
  verify(build(GraphRole::prefill, 16, 64));
  verify(build(GraphRole::calibrate, 64, 64));
}

TEST_P(HfExport, RolesHaveTheSameIds) {
  const Graph decode = build(GraphRole::decode, 1, 64);
  const Graph calibrate = build(GraphRole::calibrate, 40, 40);
  ASSERT_EQ(decode.order(), calibrate.order());
  for (const NodeId id : decode.order()) {
    EXPECT_EQ(decode.node(id).op, calibrate.node(id).op);
    EXPECT_EQ(decode.node(id).module, calibrate.node(id).module);
    EXPECT_EQ(decode.node(id).inputs, calibrate.node(id).inputs);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, HfExport, ::testing::ValuesIn(recorded_families()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lathe
