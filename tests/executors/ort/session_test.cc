#include "executors/ort/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "executors/ort/ort_test.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::columns_contract;
using testing::expect_error;
using testing::golden_decode;
using testing::GoldenColumns;
using testing::ort_model;
using testing::TestFolder;

using OrtSession = testing::OrtTest;

const OrtTarget kCpu = {.threads = 1, .htp = {}};
const OrtTarget kSimulator = {.threads = 0,
                              .htp = HtpOptions{.chip = find_chip("SM8750"), .optimization = 3}};

/// What a session gives for x.
struct Columns {
  explicit Columns(std::vector<uint16_t> codes) : x(std::move(codes)), y(x.size()), k(x.size()) {}

  void run(Session& session) {
    session.bind("x", dense_view(DType::u16, session.io().inputs[0].shape, x.data()));
    session.bind("y", dense_view(DType::u16, session.io().outputs[0].shape, y.data()));
    session.bind("k", dense_view(DType::u8, session.io().outputs[1].shape, k.data()));
    session.run();
  }

  std::vector<uint16_t> x;
  std::vector<uint16_t> y;
  std::vector<uint8_t> k;
};

TEST_F(OrtSession, RunsOnTheCpu) {
  const auto session = make_ort_session(ort_model("decode.onnx"), columns_contract(1), kCpu);
  const GoldenColumns golden = golden_decode();
  Columns columns(golden.x);
  columns.run(*session);
  EXPECT_EQ(columns.y, golden.y);
  EXPECT_EQ(columns.k, golden.k);
}

TEST_F(OrtSession, RunsOnTheSimulator) {
  const auto session = make_ort_session(ort_model("decode.onnx"), columns_contract(1), kSimulator);
  const GoldenColumns golden = golden_decode();
  Columns columns(golden.x);
  columns.run(*session);
  for (size_t i = 0; i < golden.y.size(); ++i) {
    EXPECT_NEAR(columns.y[i], golden.y[i], 4) << i;
    EXPECT_NEAR(columns.k[i], golden.k[i], 1) << i;
  }
}

TEST_F(OrtSession, UsesBoundMemoryInPlace) {
  const auto session = make_ort_session(ort_model("decode.onnx"), columns_contract(1), kCpu);
  const GoldenColumns golden = golden_decode();
  Columns columns(std::vector<uint16_t>(8, 32768));
  columns.run(*session);
  EXPECT_NE(columns.y, golden.y);
  // Other codes in the same memory: no binding in between.
  columns.x = golden.x;
  session->run();
  EXPECT_EQ(columns.y, golden.y);
}

TEST_F(OrtSession, BindsAnew) {
  const auto session = make_ort_session(ort_model("decode.onnx"), columns_contract(1), kCpu);
  const GoldenColumns golden = golden_decode();
  Columns first(golden.x);
  first.run(*session);
  Columns second(std::vector<uint16_t>(8, 32768));
  second.run(*session);
  EXPECT_EQ(first.y, golden.y);
  EXPECT_NE(second.y, golden.y);
}

TEST_F(OrtSession, LeavesAloneWhatIsUnbound) {
  const auto session = make_ort_session(ort_model("decode.onnx"), columns_contract(1), kCpu);
  const GoldenColumns golden = golden_decode();
  Columns columns(golden.x);
  columns.run(*session);
  const std::vector<uint16_t> untouched(8, 7);
  columns.y = untouched;
  session->bind("y", dense_view(DType::u16, {1, 8, 1, 1}, nullptr));
  session->run();
  EXPECT_EQ(columns.y, untouched);
}

TEST_F(OrtSession, WantsDenseViewsOfTheContract) {
  const auto session = make_ort_session(ort_model("decode.onnx"), columns_contract(1), kCpu);
  EXPECT_TRUE(session->wants_dense_inputs());
  std::vector<uint16_t> codes(64);
  const auto bind = [&](const char* name, const TensorView& view) {
    return [&session, name, view] { session->bind(name, view); };
  };
  TensorView strided = dense_view(DType::u16, {1, 8, 1, 1}, codes.data());
  strided.strides[1] = 2;
  expect_error(bind("x", strided), {"x", "dense"});
  expect_error(bind("x", dense_view(DType::u8, {1, 8, 1, 1}, codes.data())),
               {"x", "expected u16[1, 8, 1, 1]", "found u8[1, 8, 1, 1]"});
  expect_error(bind("y", dense_view(DType::u16, {1, 8}, codes.data())), {"y", "found u16[1, 8]"});
  expect_error(bind("z", dense_view(DType::u16, {1, 8, 1, 1}, codes.data())), {"z"});
}

TEST_F(OrtSession, ChecksTheFileAgainstTheContract) {
  const auto open = [](const IoContract& io) {
    return [&io] { make_ort_session(ort_model("decode.onnx"), io, kCpu); };
  };
  const IoContract other_shape = columns_contract(2);
  expect_error(open(other_shape),
               {"decode.onnx: x", "expected u16[1, 8, 1, 2]", "found u16[1, 8, 1, 1]"});
  IoContract other_type = columns_contract(1);
  other_type.outputs[1].dtype = DType::u16;
  expect_error(open(other_type), {"decode.onnx: k", "expected u16", "found u8"});
  IoContract more = columns_contract(1);
  more.inputs.push_back({.name = "mask", .dtype = DType::u16, .shape = {1}, .encoding = {}});
  expect_error(open(more), {"decode.onnx: mask", "lacks"});
  IoContract fewer = columns_contract(1);
  fewer.outputs.pop_back();
  expect_error(open(fewer), {"decode.onnx: k", "the contract lacks"});
}

TEST_F(OrtSession, RefusesAFileThatIsNoModel) {
  const TestFolder folder;
  const auto file = folder.write("broken.onnx", "not a model");
  for (const OrtTarget& target : {kCpu, kSimulator}) {
    expect_error([&] { make_ort_session(file, columns_contract(1), target); }, {"broken.onnx"});
    expect_error([&] { make_ort_session(folder / "none.onnx", columns_contract(1), target); },
                 {"none.onnx"});
  }
}

TEST_F(OrtSession, NamesTheOperatorThatTheHtpRejects) {
  expect_error(
      [] { make_ort_session(ort_model("rejected.onnx"), columns_contract(1), kSimulator); },
      {"rejected.onnx", "rejected operator layers.0.activation (Acosh)"});
}

}  // namespace
}  // namespace lathe
