#include "executors/chain_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executors/reference/evaluator_session.h"
#include "graph/text.h"
#include "support/error.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<Session> session(const char* text) {
  return std::make_unique<ReferenceSession>(std::make_shared<const Graph>(parse_graph(text)));
}

// y = (x + shift) + shift, z = -(x + shift), in two parts.
constexpr const char* kFirst = R"(
    graph decode ar=1 cl=1
    input %x : f32[2]
    input %shift : f32[2]
    %sum = aten.add(%x, %shift)
    %z = aten.neg(%sum)
    output z = %z
    output sum = %sum)";
constexpr const char* kSecond = R"(
    graph decode ar=1 cl=1
    input %sum : f32[2]
    input %shift : f32[2]
    %y = aten.add(%sum, %shift)
    output y = %y)";

IoContract outside() {
  return {.inputs = {{"x", DType::f32, {2}, {}}, {"shift", DType::f32, {2}, {}}},
          .outputs = {{"y", DType::f32, {2}, {}}, {"z", DType::f32, {2}, {}}}};
}

std::vector<std::unique_ptr<Session>> both(const char* first, const char* second) {
  std::vector<std::unique_ptr<Session>> parts;
  parts.push_back(session(first));
  parts.push_back(session(second));
  return parts;
}

TEST(ChainSession, PartsRunAsOne) {
  const std::unique_ptr<Session> chain = chain_sessions(both(kFirst, kSecond), outside());
  std::vector<float> x{1, 2};
  std::vector<float> shift{10, 20};
  std::vector<float> y(2);
  std::vector<float> z(2);
  const auto bind = [&](const char* name, std::vector<float>& data) {
    chain->bind(name, dense_view(DType::f32, {2}, data.data()));
  };
  bind("x", x);
  bind("shift", shift);
  bind("y", y);
  bind("z", z);
  chain->run();
  EXPECT_THAT(y, ElementsAre(21, 42));
  EXPECT_THAT(z, ElementsAre(-11, -22));
}

TEST(ChainSession, WhatStaysInsideCannotBeBound) {
  const std::unique_ptr<Session> chain = chain_sessions(both(kFirst, kSecond), outside());
  std::vector<float> sum(2);
  EXPECT_THROW(chain->bind("sum", dense_view(DType::f32, {2}, sum.data())), Error);
}

TEST(ChainSession, RefusesPartsThatDoNotFit) {
  EXPECT_THROW(chain_sessions(both(kSecond, kFirst), outside()), Error);  // sum comes too late
  IoContract other = outside();
  other.outputs[0].shape = {3};
  EXPECT_THROW(chain_sessions(both(kFirst, kSecond), other), Error);
  other = outside();
  other.outputs.push_back({"logits", DType::f32, {2}, {}});
  EXPECT_THROW(chain_sessions(both(kFirst, kSecond), other), Error);
}

}  // namespace
}  // namespace lathe
