#include "decode/graph_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "decode/fake_model.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::HasSubstr;

IoContract whole_contract() {
  test::FakeModel model;
  model.cache_style = CacheStyle::whole;
  return model.contract(4);
}

/// What is said of a contract after `spoil` had its way with it.
std::string complaint(IoContract contract, const std::function<void(IoContract&)>& spoil) {
  spoil(contract);
  try {
    read_graph_io(contract);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string complaint(const std::function<void(IoContract&)>& spoil, int64_t tokens_per_call = 4) {
  return complaint(test::FakeModel{}.contract(tokens_per_call), spoil);
}

std::string complaint_of_whole(const std::function<void(IoContract&)>& spoil) {
  return complaint(whole_contract(), spoil);
}

TEST(GraphIo, ReadsWhatTheRunnerNeeds) {
  const GraphIo io = read_graph_io(test::FakeModel{}.contract(4));
  EXPECT_EQ(io.tokens_per_call, 4);
  EXPECT_EQ(io.context, 16);
  EXPECT_EQ(io.vocab, 32);
  EXPECT_EQ(io.cache_slots(), 12);
  EXPECT_EQ(io.cache_style, CacheStyle::pairs);
  EXPECT_EQ(io.ids, (TokenInput{"tokens", DType::i32, {1, 4}}));
  EXPECT_EQ(io.positions, (TokenInput{"position", DType::i32, {1, 4}}));
  EXPECT_EQ(io.mask, (ValueFormat{DType::u16, 255.0f / 65535.0f, 65535}));
  EXPECT_EQ(io.logits, (ValueFormat{DType::u16, 0.001f, 32768}));
  const ValueFormat cache{DType::u8, 0.05f, 128};
  ASSERT_EQ(io.layers.size(), 2u);
  EXPECT_EQ(io.layers[0], (LayerFormat{{2, 4, cache}, {2, 3, cache}}));
  EXPECT_EQ(io.layers[1], (LayerFormat{{1, 5, cache}, {1, 6, cache}}));
}

TEST(GraphIo, ReadsWholeCaches) {
  const GraphIo io = read_graph_io(whole_contract());
  EXPECT_EQ(io.cache_style, CacheStyle::whole);
  EXPECT_EQ(io.ids, (TokenInput{"input_ids", DType::i64, {1, 4}}));
  EXPECT_EQ(io.positions, (TokenInput{"cache_position", DType::i64, {4}}));
  EXPECT_EQ(io.vocab, 32);
  const ValueFormat cache{DType::u8, 0.05f, 128};
  ASSERT_EQ(io.layers.size(), 2u);
  EXPECT_EQ(io.layers[0], (LayerFormat{{2, 4, cache}, {2, 3, cache}}));
  EXPECT_EQ(io.layers[1], (LayerFormat{{1, 5, cache}, {1, 6, cache}}));
}

TEST(GraphIo, NamesWhatIsWrongWithWholeCaches) {
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.inputs[0].dtype = DType::i32; }),
              HasSubstr("input_ids: wrong type: expected i64, found i32"));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.inputs[1].shape = {1, 4}; }),
              HasSubstr("cache_position: wrong shape: expected [4], found [1, 4]"));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.inputs[2].shape[2] = 12; }),
              HasSubstr("static_cache.layers.0.keys: wrong shape: expected [1, 2, 16, 4], found "
                        "[1, 2, 12, 4]"));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.outputs[2].shape[2] = 12; }),
              HasSubstr("layers.0.values: wrong shape"));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.outputs.resize(1); }),
              HasSubstr("layers.0.keys: output is missing"));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.outputs.pop_back(); }),
              HasSubstr("layers.1.values: output is missing"));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.inputs.pop_back(); }),
              HasSubstr("static_cache.layers.1.values: input is missing"));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) { io.inputs[3].encoding->zero_point = 127; }),
              HasSubstr("static_cache.layers.0.values: cache is not encoded as the output that "
                        "feeds it: expected u8 with "));
  EXPECT_THAT(complaint_of_whole([](IoContract& io) {
                io.inputs.push_back({"attention_mask", DType::u16, {1, 1, 4, 16}, {}});
              }),
              HasSubstr("attention_mask: input is not one the runner knows"));
}

TEST(GraphIo, AGraphOverTheWholeContextMayComeWithoutCaches) {
  EXPECT_EQ(complaint(
                [](IoContract& io) {
                  std::erase_if(io.inputs, [](const IoTensor& tensor) {
                    return tensor.name.find("cache") != std::string::npos;
                  });
                },
                16),
            "no error");
}

TEST(GraphIo, NamesWhatIsWrongWithAContract) {
  EXPECT_THAT(complaint([](IoContract& io) { io.tokens_per_call = 0; }),
              HasSubstr("prefill graph: tokens per call and context do not fit"));
  EXPECT_THAT(complaint([](IoContract& io) { io.context = 3; }), HasSubstr("found 4 and 3"));
  EXPECT_THAT(complaint([](IoContract& io) { io.context = int64_t{1} << 62; }),
              HasSubstr("do not fit"));
  EXPECT_THAT(complaint([](IoContract& io) { io.inputs[0].name = "ids"; }),
              HasSubstr("prefill graph: tokens: input is missing"));
  EXPECT_THAT(complaint([](IoContract& io) { io.inputs[0].dtype = DType::i64; }),
              HasSubstr("tokens: wrong type: expected i32, found i64"));
  EXPECT_THAT(
      complaint([](IoContract& io) { io.inputs[1].shape = {1, 1, 4, 15}; }),
      HasSubstr("attention_mask: wrong shape: expected [1, 1, 4, 16], found [1, 1, 4, 15]"));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs[0].shape = {}; }),
              HasSubstr("logits: wrong shape"));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs[0].shape = {1, 4, int64_t{1} << 40}; }),
              HasSubstr("logits: wrong shape"));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs.resize(1); }),
              HasSubstr("k_new_0: output is missing"));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs.pop_back(); }),
              HasSubstr("v_new_1: output is missing"));
  EXPECT_THAT(complaint([](IoContract& io) { io.inputs.pop_back(); }),
              HasSubstr("v_cache_1: input is missing"));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs[1].shape = {1, 2, 4}; }),
              HasSubstr("k_new_0"));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs[1].shape[1] = int64_t{1} << 62; }),
              HasSubstr("k_new_0"));
  EXPECT_THAT(complaint([](IoContract& io) { io.inputs[3].shape[1] = 3; }),
              HasSubstr("k_cache_0: wrong shape: expected [1, 2, 4, 12], found [1, 3, 4, 12]"));
  EXPECT_THAT(complaint([](IoContract& io) {
                io.inputs.push_back({"window_attention_mask", DType::u16, {1, 1, 4, 16}, {}});
              }),
              HasSubstr("window_attention_mask: input is not one the runner knows"));
}

TEST(GraphIo, ASlidingLayerHasTheSlotsOfItsWindow) {
  test::FakeModel model;
  model.window = 6;
  const GraphIo decode = read_graph_io(model.contract(1));
  EXPECT_EQ(decode.slots, (std::vector<int64_t>{15, 6}));
  EXPECT_EQ(decode.window, 6);
  EXPECT_EQ(read_graph_io(model.contract(4)).slots, (std::vector<int64_t>{12, 6}));
  model.window = 14;
  EXPECT_EQ(read_graph_io(model.contract(4)).slots, (std::vector<int64_t>{12, 12}));
}

TEST(GraphIo, WhereAllLayersSlideThereIsNoOtherMask) {
  test::FakeModel model;
  model.window = 6;
  IoContract contract = model.contract(4);
  EXPECT_TRUE(read_graph_io(contract).mask);
  std::erase_if(contract.inputs,
                [](const IoTensor& tensor) { return tensor.name == "attention_mask"; });
  EXPECT_FALSE(read_graph_io(contract).mask);
  EXPECT_TRUE(read_graph_io(contract).window_mask);
}

TEST(GraphIo, NamesWhatIsWrongWithAWindow) {
  EXPECT_THAT(complaint([](IoContract& io) { io.window = 16; }),
              HasSubstr("prefill graph: window is out of range: expected 0 to 15, found 16"));
  EXPECT_THAT(complaint([](IoContract& io) { io.window = 6; }),
              HasSubstr("window_attention_mask: input is missing"));
  test::FakeModel narrow;
  narrow.window = 6;
  const GraphIo decode = read_graph_io(narrow.contract(1));
  const auto difference = [&](const GraphIo& prefill) {
    try {
      check_same_model(decode, prefill);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(difference(read_graph_io(narrow.contract(4))), "no error");
  test::FakeModel wide;
  wide.window = 8;
  EXPECT_THAT(difference(read_graph_io(wide.contract(4))), HasSubstr("window (6 and 8)"));
  GraphIo prefill = read_graph_io(narrow.contract(4));
  prefill.slots[1] = 12;
  EXPECT_THAT(difference(prefill), HasSubstr("the window of layer 1 (6 and 12)"));
}

TEST(GraphIo, RefusesEncodingsThatCannotBeRead) {
  const auto logits = [](const std::function<void(Encoding&)>& spoil) {
    return complaint([&](IoContract& io) { spoil(*io.outputs[0].encoding); });
  };
  constexpr const char* kUnusable = "logits: encoding is not usable";
  EXPECT_THAT(logits([](Encoding& e) { e.scale = {0.0f}; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.scale = {-1.0f}; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.scale = {NAN}; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.scale = {INFINITY}; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.scale = {}; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.axis = 2; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.dtype = DType::u8; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.zero_point = -1; }), HasSubstr(kUnusable));
  EXPECT_THAT(logits([](Encoding& e) { e.zero_point = 65536; }), HasSubstr(kUnusable));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs[0].encoding.reset(); }),
              HasSubstr("found u16 without encoding"));
  EXPECT_THAT(complaint([](IoContract& io) { io.outputs[0].dtype = DType::i8; }),
              HasSubstr("expected u8, u16 or f32, found i8"));
}

TEST(GraphIo, RefusesACacheThatIsNotEncodedAsItsNewPairs) {
  EXPECT_THAT(
      complaint([](IoContract& io) { io.inputs[4].encoding->scale = {0.06f}; }),
      HasSubstr("v_cache_0: cache is not encoded as the output that feeds it: expected u8 with "));
}

}  // namespace
}  // namespace lathe
