#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executors/cpu/code_graph.h"
#include "executors/cpu/session.h"
#include "support/error.h"

// What is bound where, and what happens to outputs that nobody binds.

namespace lathe {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kEqual = 0;

const std::string kTwoSteps = R"(graph decode ar=1 cl=8
input %x : u16[2, 3]<0.0001, 30000>
%a = aten.neg(%x)
%b = aten.add(%a, %x)
output a = %a
output b = %b
)";

TensorView row_of_six(std::vector<uint16_t>& memory) {
  return dense_view(DType::u16, {2, 3}, memory.data());
}

std::vector<uint16_t> codes(const std::vector<std::byte>& bytes) {
  const auto* first = reinterpret_cast<const uint16_t*>(bytes.data());
  return {first, first + bytes.size() / 2};
}

TEST(CpuBinding, OutputsMayBeUnboundAndBoundAnew) {
  CodeGraph graph(kTwoSteps);
  const Results expected = graph.run_reference();
  const auto session = make_cpu_session(graph.graph(), team_of(1));
  graph.bind_inputs(*session);
  session->run();  // nobody wants anything

  std::vector<uint16_t> first(6, 7);
  std::vector<uint16_t> second(6, 7);
  std::vector<uint16_t> b(6, 7);
  session->bind("b", row_of_six(b));
  session->run();  // %b needs %a all the same
  EXPECT_EQ(b, codes(expected.at("b")));

  session->bind("a", row_of_six(first));
  session->run();
  EXPECT_EQ(first, codes(expected.at("a")));

  session->bind("a", row_of_six(second));
  std::fill(first.begin(), first.end(), uint16_t{7});
  session->run();
  EXPECT_EQ(second, codes(expected.at("a")));
  EXPECT_THAT(first, Each(7));

  session->bind("a", TensorView{});
  std::fill(second.begin(), second.end(), uint16_t{7});
  std::fill(b.begin(), b.end(), uint16_t{7});
  session->run();
  EXPECT_THAT(second, Each(7));
  EXPECT_EQ(b, codes(expected.at("b")));
}

TEST(CpuBinding, InputsMayBeBoundAnewWithOtherStrides) {
  CodeGraph graph(kTwoSteps);
  const Results expected = graph.run_reference();
  const auto session = make_cpu_session(graph.graph(), team_of(1));
  for (const int64_t gap : {0, 5, 1, 0}) {
    EXPECT_TRUE(graph.run(*session, gap) == expected) << gap;
  }
}

TEST(CpuBinding, AValueMayBeTwoOutputs) {
  // The projection alone would be left out while "first" is unbound.
  CodeGraph graph(R"(graph decode ar=1 cl=8
input %x : u16[1, 8]<0.0001, 30000>
const %w : i8[6, 8]<per channel 0>
%y = aten.linear(%x, %w)
output first = %y
output second = %y
)");
  expect_as_reference(graph, kEqual);
  const Results expected = graph.run_reference();
  const auto session = make_cpu_session(graph.graph(), team_of(1));
  graph.bind_inputs(*session);
  std::vector<uint16_t> memory(6, 7);
  for (const char* name : {"second", "first"}) {
    std::fill(memory.begin(), memory.end(), uint16_t{7});
    session->bind(name, dense_view(DType::u16, {1, 6}, memory.data()));
    session->run();
    EXPECT_EQ(memory, codes(expected.at(name))) << name;
    session->bind(name, TensorView{});
  }
}

TEST(CpuBinding, OutputsThatAreReadByLaterSteps) {
  CodeGraph graph(R"(graph decode ar=1 cl=8
input %x : u16[3, 8]<0.0001, 30000>
const %w : i8[6, 8]<per channel 0>
%y = aten.linear(%x, %w)
%t = aten.transpose(%y) {dim0=0, dim1=1}
%u = aten.unsqueeze(%t) {dim=0}
%z = aten.neg(%u)
%b = lathe.requantize(%t) : u8[6, 3]<0.05, 128>
%v = aten.transpose(%b) {dim0=0, dim1=1}
%c = lathe.requantize(%v) : u16[3, 6]<0.0001, 30000>
output y = %y
output t = %t
output u = %u
output z = %z
output b = %b
output v = %v
output c = %c
)");
  expect_as_reference(graph, kEqual);
  const Results expected = graph.run_reference();
  // Each alone, the others unbound.
  for (const auto& [name, bytes] : expected) {
    const auto session = make_cpu_session(graph.graph(), team_of(1));
    graph.bind_inputs(*session);
    std::vector<std::byte> memory(bytes.size());
    const IoContract io = session->io();
    const IoTensor& tensor = *io.find_output(name);
    session->bind(name, dense_view(tensor.dtype, tensor.shape, memory.data()));
    session->run();
    EXPECT_EQ(memory, bytes) << name;
  }
}

TEST(CpuBinding, InputsMayBeOutputs) {
  CodeGraph graph(R"(graph decode ar=1 cl=8
input %rows : u16[3, 8]<0.0001, 30000>
input %row : u8[1, 1, 8]<0.01, 30>
input %ids : i32[2, 3]
%renamed = aten.alias(%rows)
output rows_out = %rows
output row_out = %row
output ids_out = %ids
output renamed = %renamed
output again = %rows
)");
  expect_as_reference(graph, kEqual);
}

TEST(CpuBinding, AnOutputNamedAsAnInputIsNotThatInput) {
  CodeGraph graph(R"(graph decode ar=1 cl=8
input %x : u16[1, 8]<0.0001, 30000>
%y = aten.neg(%x)
output y = %x
output x2 = %y
)");
  expect_as_reference(graph, kEqual);
}

TEST(CpuBinding, InputsWithoutElementsNeedNoMemory) {
  CodeGraph graph(R"(graph decode ar=1 cl=8
input %e : u16[2, 0]<0.0001, 30000>
input %x : u16[2, 3]<0.0001, 30000>
%y = aten.cat(%e, %x) {dim=1}
output y = %y
)");
  const Results expected = graph.run_reference();
  const auto session = make_cpu_session(graph.graph(), team_of(1));
  EXPECT_TRUE(graph.run(*session) == expected);
  const auto other = make_cpu_session(graph.graph(), team_of(1));
  std::vector<uint16_t> x(6, 3);
  std::vector<uint16_t> y(6, 7);
  other->bind("x", row_of_six(x));
  other->bind("y", row_of_six(y));
  other->run();
  EXPECT_EQ(y, x);
}

void expect_refused(Session& session, const std::string& name, const TensorView& view,
                    const std::string& why) {
  try {
    session.bind(name, view);
    FAIL() << "bound " << name;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(why));
  }
}

TEST(CpuBinding, RefusesWhatDoesNotFit) {
  const CodeGraph graph(kTwoSteps);
  const auto session = make_cpu_session(graph.graph(), team_of(1));
  std::vector<uint16_t> memory(64);
  const auto view = [&](DType dtype, Shape shape) {
    return dense_view(dtype, std::move(shape), memory.data());
  };
  expect_refused(*session, "z", view(DType::u16, {2, 3}), "no such input or output");
  expect_refused(*session, "", view(DType::u16, {2, 3}), "no such input or output");
  expect_refused(*session, "x", view(DType::u8, {2, 3}), "expected u16[2, 3]");
  expect_refused(*session, "x", view(DType::u16, {3, 2}), "expected u16[2, 3]");
  expect_refused(*session, "a", view(DType::u16, {6}), "expected u16[2, 3]");
  TensorView strided = view(DType::u16, {2, 3});
  strided.strides = {1, 2};
  expect_refused(*session, "x", strided, "not contiguous");
  strided.strides = {1};
  expect_refused(*session, "x", strided, "not contiguous");
  strided.strides = {5, 1};
  expect_refused(*session, "a", strided, "dense");
  session->bind("x", strided);
}

}  // namespace
}  // namespace lathe
