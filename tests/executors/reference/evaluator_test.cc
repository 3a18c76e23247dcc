#include "executors/reference/evaluator.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "executors/reference/reference_kernels.h"
#include "executors/reference/test_graph.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TensorView view_of(std::vector<float>& values, Shape shape) {
  return dense_view(DType::f32, std::move(shape), values.data());
}

/// Counts nodes per operator on their way to the reference.
class CountingKernels final : public ReferenceKernels {
 public:
  void evaluate(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                std::span<const TensorView> outputs) override {
    ++count[node.op];
    ReferenceKernels::evaluate(graph, node, inputs, outputs);
  }
  std::map<Op, int> count;
};

constexpr const char* kTwoOutputs =
    "graph decode ar=1 cl=8\n"
    "input %x : f32[1, 4]\n"
    "%double = aten.mul(%x) {other=2.0}\n"
    "%negative = aten.neg(%double)\n"
    "%silent = aten.silu(%double)\n"
    "output negative = %negative\n"
    "output silent = %silent\n";

TEST(Evaluator, ComputesOnlyWhatABoundOutputNeeds) {
  TestGraph graph(kTwoOutputs);
  auto kernels = std::make_shared<CountingKernels>();
  Evaluator evaluator(graph.share(), kernels);
  graph.input("x", counting(4)).bind_inputs(evaluator);
  std::vector<float> negative(4);
  evaluator.bind_output("negative", view_of(negative, {1, 4}));
  evaluator.run();
  EXPECT_THAT(negative, ElementsAre(0, -2, -4, -6));
  EXPECT_THAT(kernels->count, UnorderedElementsAre(std::pair(Op::mul, 1), std::pair(Op::neg, 1)));

  evaluator.bind_output("negative", {});
  std::vector<float> silent(4);
  evaluator.bind_output("silent", view_of(silent, {1, 4}));
  kernels->count.clear();
  evaluator.run();
  EXPECT_THAT(kernels->count, UnorderedElementsAre(std::pair(Op::mul, 1), std::pair(Op::silu, 1)));
}

TEST(Evaluator, InputsMayBeWindows) {
  TestGraph graph = one_node("input %x : f32[2, 3]\n", "aten.neg(%x)");
  std::vector<float> buffer = counting(10);  // [2, 5]
  TensorView window = view_of(buffer, {2, 3});
  window.data += sizeof(float);
  window.strides = {5, 1};
  std::vector<float> y(6);
  Evaluator evaluator(graph.share());
  evaluator.bind_input("x", window);
  evaluator.bind_output("y", view_of(y, {2, 3}));
  evaluator.run();
  EXPECT_THAT(y, ElementsAre(-1, -2, -3, -6, -7, -8));
}

TEST(Evaluator, OutputsMayBeWindows) {
  TestGraph graph = one_node("input %x : f32[2, 2]\n", "aten.neg(%x)");
  std::vector<float> buffer(8, 9.0f);  // [2, 4]
  TensorView window = view_of(buffer, {2, 2});
  window.strides = {4, 1};
  Evaluator evaluator(graph.share());
  graph.input("x", counting(4)).bind_inputs(evaluator);
  evaluator.bind_output("y", window);
  evaluator.run();
  EXPECT_THAT(buffer, ElementsAre(0, -1, 9, 9, -2, -3, 9, 9));
}

TEST(Evaluator, AnOutputMayTakeTheMemoryOfAnInput) {
  // %next is computed before %sum reads %x; the input must still be whole then.
  TestGraph graph(
      "graph decode ar=1 cl=8\n"
      "input %x : f32[1, 3]\n"
      "%next = aten.add(%x) {other=1.0}\n"
      "%sum = aten.add(%x, %next)\n"
      "output next = %next\n"
      "output sum = %sum\n");
  std::vector<float> x{1, 2, 3};
  std::vector<float> sum(3);
  Evaluator evaluator(graph.share());
  evaluator.bind_input("x", view_of(x, {1, 3}));
  evaluator.bind_output("next", view_of(x, {1, 3}));
  evaluator.bind_output("sum", view_of(sum, {1, 3}));
  evaluator.run();
  EXPECT_THAT(x, ElementsAre(2, 3, 4));
  EXPECT_THAT(sum, ElementsAre(3, 5, 7));
  evaluator.run();
  EXPECT_THAT(x, ElementsAre(3, 4, 5));
}

TEST(Evaluator, OutputsMayBeInputsAndConstants) {
  TestGraph graph(
      "graph decode ar=1 cl=8\n"
      "input %x : f32[2]\n"
      "const %c : f32[2]\n"
      "%view = aten.view(%x) {sizes=[1, 2]}\n"
      "output same = %x\n"
      "output renamed = %view\n"
      "output fixed = %c\n");
  graph.constant("c", {7, 8}).input<float>("x", {1, 2});
  std::vector<float> same(2), renamed(2), fixed(2);
  Evaluator evaluator(graph.share());
  graph.bind_inputs(evaluator);
  evaluator.bind_output("same", view_of(same, {2}));
  evaluator.bind_output("renamed", view_of(renamed, {1, 2}));
  evaluator.bind_output("fixed", view_of(fixed, {2}));
  evaluator.run();
  EXPECT_THAT(same, ElementsAre(1, 2));
  EXPECT_THAT(renamed, ElementsAre(1, 2));
  EXPECT_THAT(fixed, ElementsAre(7, 8));
}

TEST(Evaluator, EmptyInputsNeedNoMemory) {
  TestGraph graph = one_node("input %past : f32[1, 0, 2]\ninput %x : f32[1, 2, 2]\n",
                             "aten.cat(%past, %x) {dim=1}");
  EXPECT_THAT(graph.input("x", counting(4)).run<float>(), ElementsAre(0, 1, 2, 3));
}

TEST(Evaluator, TheObserverSeesEveryInputAndEveryResult) {
  TestGraph graph(
      "graph decode ar=1 cl=8\n"
      "input %x : f32[1, 4]\n"
      "const %w : f32[2, 4]\n"
      "%view = aten.view(%x) {sizes=[4]}\n"
      "%linear = aten.linear(%x, %w)\n"
      "%unread = aten.neg(%linear)\n"
      "output y = %linear\n");
  graph.constant("w", {1, 1, 1, 1, 1, 0, 0, 1}).input("x", counting(4));
  Evaluator evaluator(graph.share());
  graph.bind_inputs(evaluator);
  std::map<std::string, std::vector<float>> seen;
  evaluator.observe([&](ValueId id, const TensorView& view) {
    EXPECT_TRUE(is_dense(view));
    const auto* data = view.as<float>();
    seen[graph.graph().value(id).name].assign(data, data + elements(view.shape));
  });
  evaluator.run();
  using Floats = std::vector<float>;
  EXPECT_THAT(seen, UnorderedElementsAre(
                        std::pair("x", Floats{0, 1, 2, 3}), std::pair("view", Floats{0, 1, 2, 3}),
                        std::pair("linear", Floats{6, 3}), std::pair("unread", Floats{-6, -3})));
}

TEST(Evaluator, AResultNobodyKeepsGoesByInChunks) {
  TestGraph graph =
      one_node("input %x : f32[1, 5, 2]\nconst %w : f32[3, 2]\n", "aten.linear(%x, %w)");
  graph.constant("w", {1, 0, 0, 1, 1, 1}).input("x", counting(10));
  const std::vector<float> whole = graph.run<float>();

  // Room for two rows of three numbers.
  Evaluator evaluator(graph.share(), nullptr, {.chunk = 24});
  graph.bind_inputs(evaluator);
  std::vector<float> streamed;
  std::vector<int64_t> first_rows;
  std::vector<Shape> observed;
  evaluator.stream_output("y", [&](int64_t first_row, const TensorView& rows) {
    first_rows.push_back(first_row);
    streamed.insert(streamed.end(), rows.as<float>(), rows.as<float>() + elements(rows.shape));
  });
  evaluator.observe([&](ValueId id, const TensorView& view) {
    if (graph.graph().value(id).name == "y") observed.push_back(view.shape);
  });
  evaluator.run();
  EXPECT_THAT(first_rows, ElementsAre(0, 2, 4));
  EXPECT_THAT(observed, ElementsAre(Shape{2, 3}, Shape{2, 3}, Shape{1, 3}));
  EXPECT_EQ(streamed, whole);
}

TEST(Evaluator, AnyOutputCanBeStreamed) {
  TestGraph graph = one_node("input %x : f32[1, 2, 2]\n", "aten.neg(%x)");
  Evaluator evaluator(graph.share());
  graph.input("x", counting(4)).bind_inputs(evaluator);
  int calls = 0;
  evaluator.stream_output("y", [&](int64_t first_row, const TensorView& rows) {
    ++calls;
    EXPECT_EQ(first_row, 0);
    EXPECT_EQ(rows.shape, (Shape{2, 2}));
    EXPECT_EQ(rows.as<float>()[3], -3.0f);
  });
  evaluator.run();
  EXPECT_EQ(calls, 1);
}

TEST(Evaluator, ValuesAreFreedAfterTheirLastReader) {
  std::string text = "graph decode ar=1 cl=8\ninput %x : f32[1, 1024]\n%v0 = aten.neg(%x)\n";
  for (int i = 1; i < 50; ++i) {
    text += "%v" + std::to_string(i) + " = aten.neg(%v" + std::to_string(i - 1) + ")\n";
  }
  TestGraph graph(text + "output y = %v49\n");
  Evaluator evaluator(graph.share());
  graph.input("x", counting(1024)).bind_inputs(evaluator);
  std::vector<float> y(1024);
  evaluator.bind_output("y", view_of(y, {1, 1024}));
  evaluator.run();
  EXPECT_EQ(y[3], 3.0f);
  EXPECT_EQ(evaluator.peak_bytes(), 2 * 4096);
}

TEST(Evaluator, ConstantsLiveWhileANodeReadsThem) {
  std::string text = "graph decode ar=1 cl=8\ninput %x : f32[1, 32]\n";
  std::string last = "x";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    text +=
        "const %w" + n + " : f32[32, 32]\n%v" + n + " = aten.linear(%" + last + ", %w" + n + ")\n";
    last = "v" + n;
  }
  TestGraph graph(text + "output y = %v7\n");
  for (int i = 0; i < 8; ++i) graph.constant("w" + std::to_string(i), counting(1024));
  std::vector<float> y(32);
  const auto peak = [&](int64_t kept) {
    Evaluator evaluator(graph.share(), nullptr, {.kept_constants = kept});
    graph.input("x", counting(32)).bind_inputs(evaluator);
    evaluator.bind_output("y", view_of(y, {1, 32}));
    evaluator.run();
    evaluator.run();
    return evaluator.peak_bytes();
  };
  // One weight of 4,096 bytes and two rows of 128; then all eight weights.
  EXPECT_EQ(peak(0), 4096 + 2 * 128);
  EXPECT_EQ(peak(1 << 20), 8 * 4096 + 2 * 128);
}

TEST(Evaluator, EmbeddingsReadOnlyTheirRows) {
  class Table final : public FloatSource {
   public:
    void read(int64_t begin, int64_t count, float* out) const override {
      EXPECT_EQ(count, 2);
      std::iota(out, out + count, static_cast<float>(begin));
    }
  };
  Graph graph(GraphRole::decode, 1, 8);
  auto table = std::make_shared<Constant>();
  table->floats = std::make_shared<Table>();
  const ValueId weight = graph.add_constant("table", DType::f32, {1'000'000, 2}, table);
  const ValueId ids = graph.add_input("ids", DType::i32, {2});
  graph.add_output("y", graph.append({.op = Op::embedding, .inputs = {weight, ids}}));
  Evaluator evaluator(std::make_shared<Graph>(graph), nullptr, {.kept_constants = 1 << 20});
  std::vector<int32_t> tokens{999'999, 3};
  std::vector<float> y(4);
  evaluator.bind_input("ids", dense_view(DType::i32, {2}, tokens.data()));
  evaluator.bind_output("y", view_of(y, {2, 2}));
  evaluator.run();
  EXPECT_THAT(y, ElementsAre(1'999'998, 1'999'999, 6, 7));
}

TEST(Evaluator, RefusesTensorsThatDoNotFit) {
  TestGraph graph = one_node("input %x : f32[2, 3]\n", "aten.neg(%x)");
  Evaluator evaluator(graph.share());
  std::vector<float> values(6);
  const auto refuses = [](const std::string& line, const auto& action) {
    testing::expect_error(action, {line});
  };
  refuses("the graph has no such input: found 'z'",
          [&] { evaluator.bind_input("z", view_of(values, {2, 3})); });
  refuses("the graph has no such output: found 'z'",
          [&] { evaluator.bind_output("z", view_of(values, {2, 3})); });
  refuses("x: the bound tensor does not fit: expected f32[2, 3], found f32[3, 2]",
          [&] { evaluator.bind_input("x", view_of(values, {3, 2})); });
  refuses("expected f32[2, 3], found u16[2, 3]",
          [&] { evaluator.bind_output("y", dense_view(DType::u16, {2, 3}, values.data())); });
  TensorView transposed = view_of(values, {2, 3});
  transposed.strides = {1, 2};
  refuses("the last dimension of the bound tensor is not contiguous",
          [&] { evaluator.bind_input("x", transposed); });
  refuses("x: an input is not bound", [&] { evaluator.run(); });
}

}  // namespace
}  // namespace lathe
