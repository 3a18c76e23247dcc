// The graph of the hf frontend against what torch.export records from Hugging Face's own modeling
// code (tests/data/hf_export, torch 2.15, transformers 5.24): every operator, in order.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "graph/operators.h"
#include "graph/verifier.h"

namespace lathe {
namespace {

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

std::vector<Row> recorded(const std::string& family) {
  std::ifstream file(std::string(LATHE_TEST_DATA) + "/hf_export/" + family + ".eager.tsv");
  std::string line;
  std::getline(file, line);  // the column names
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Row row;
    std::getline(fields, row.name, '\t');
    std::getline(fields, row.op, '\t');
    std::getline(fields, row.shape, '\t');
    std::getline(fields, row.module, '\t');
    row.op = without_overload(row.op);
    // The recording wraps the model in another module, which only the head still shows.
    if (row.module == "model.lm_head") row.module = "lm_head";
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
    rows.push_back({value.name, std::string(rule_of(node.op).name), shape + "]", node.module});
  }
  return rows;
}

Graph build(GraphRole role, int64_t tokens, int64_t context) {
  return build_hf_graph(Checkpoint::open(std::string(LATHE_TEST_DATA) + "/tiny/llama"),
                        {role, tokens, context});
}

TEST(HfExport, LlamaHasTheRecordedOperatorsInOrder) {
  const std::vector<Row> expected = recorded("llama");
  ASSERT_GT(expected.size(), 200u);
  const std::vector<Row> found = rows_of(build(GraphRole::decode, 1, 64));
  for (size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    ASSERT_EQ(found[i], expected[i]) << "row " << i;
  }
  EXPECT_EQ(found.size(), expected.size());
}

TEST(HfExport, GraphsOfAllRolesPassTheVerifier) {
  verify(build(GraphRole::decode, 1, 64));
  verify(build(GraphRole::prefill, 16, 64));
  verify(build(GraphRole::calibrate, 64, 64));
}

TEST(HfExport, RolesHaveTheSameIds) {
  const Graph decode = build(GraphRole::decode, 1, 64);
  const Graph calibrate = build(GraphRole::calibrate, 40, 40);
  ASSERT_EQ(decode.order(), calibrate.order());
  for (const NodeId id : decode.order()) {
    EXPECT_EQ(decode.node(id).op, calibrate.node(id).op);
    EXPECT_EQ(decode.node(id).module, calibrate.node(id).module);
    EXPECT_EQ(decode.node(id).inputs, calibrate.node(id).inputs);
  }
}

}  // namespace
}  // namespace lathe
