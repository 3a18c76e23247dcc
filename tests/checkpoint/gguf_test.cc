#include "checkpoint/gguf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/gguf_builder.h"
#include "support/expect_error.h"
#include "support/safetensors_bytes.h"

namespace lathe {
namespace {

using testing::as_span;
using testing::expect_error;
using testing::GgufBuilder;

void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
  expect_error([&] { Gguf::parse(as_span(bytes), "m.gguf"); }, parts);
}

TEST(Gguf, ReadsMetadataOfEveryType) {
  const std::string bytes = GgufBuilder()
                                .add("u8", 0, GgufBuilder::raw(uint8_t{200}))
                                .add("i8", 1, GgufBuilder::raw(int8_t{-3}))
                                .add("u16", 2, GgufBuilder::raw(uint16_t{65535}))
                                .add("i16", 3, GgufBuilder::raw(int16_t{-300}))
                                .integer("u32", 4000000000u)
                                .add("i32", 5, GgufBuilder::raw(int32_t{-70000}))
                                .number("f32", 1e-5f)
                                .boolean("bool", true)
                                .string("text", "h\xC3\xA9")
                                .add("u64", 10, GgufBuilder::raw(uint64_t{1} << 40))
                                .add("i64", 11, GgufBuilder::raw(int64_t{-1}))
                                .add("f64", 12, GgufBuilder::raw(0.1))
                                .strings("list", {"a", "b"})
                                .integers("ids", {1, -2})
                                .numbers("scores", {0.5f})
                                .bytes();
  const Gguf gguf = Gguf::parse(as_span(bytes), "m.gguf");
  EXPECT_EQ(gguf.integer("u8"), 200);
  EXPECT_EQ(gguf.integer("i8"), -3);
  EXPECT_EQ(gguf.integer("u16"), 65535);
  EXPECT_EQ(gguf.integer("i16"), -300);
  EXPECT_EQ(gguf.integer("u32"), 4000000000);
  EXPECT_EQ(gguf.integer("i32"), -70000);
  EXPECT_EQ(gguf.number("f32"), 1e-5);  // the double that was meant, not the nearest float
  EXPECT_EQ(gguf.boolean("bool"), true);
  EXPECT_EQ(gguf.string("text"), "h\xC3\xA9");
  EXPECT_EQ(gguf.integer("u64"), int64_t{1} << 40);
  EXPECT_EQ(gguf.integer("i64"), -1);
  EXPECT_EQ(gguf.number("f64"), 0.1);
  EXPECT_EQ(*gguf.strings("list"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(gguf.integers("ids"), (std::vector<int32_t>{1, -2}));
  EXPECT_EQ(gguf.floats("scores"), (std::vector<float>{0.5f}));
  EXPECT_FALSE(gguf.integer("none").has_value());
}

TEST(Gguf, ALayerListOfOneValueCountsAsThatValue) {
  const std::string bytes =
      GgufBuilder().integers("same", {3, 3, 3}).integers("varies", {3, 3, 4}).bytes();
  const Gguf gguf = Gguf::parse(as_span(bytes), "m.gguf");
  EXPECT_EQ(gguf.integer("same"), 3);
  expect_error([&] { gguf.integer("varies"); }, {"m.gguf: varies", "layer to layer"});
}

TEST(Gguf, NamesTheKeyOfAWrongType) {
  const std::string bytes =
      GgufBuilder().string("s", "x").string("bad", "\xFF").integers("empty", {}).bytes();
  const Gguf gguf = Gguf::parse(as_span(bytes), "m.gguf");
  expect_error([&] { gguf.integer("s"); }, {"m.gguf: s", "a whole number"});
  expect_error([&] { gguf.integer("empty"); }, {"m.gguf: empty", "a whole number"});
  expect_error([&] { gguf.number("s"); }, {"m.gguf: s", "floating-point"});
  expect_error([&] { gguf.boolean("s"); }, {"m.gguf: s", "true or false"});
  expect_error([&] { gguf.strings("s"); }, {"m.gguf: s", "list of UTF-8"});
  expect_error([&] { gguf.floats("s"); }, {"m.gguf: s", "list of 32-bit floats"});
  expect_error([&] { gguf.string("bad"); }, {"m.gguf: bad", "UTF-8"});
}

TEST(Gguf, PlacesTensorsInHuggingFaceOrderOfDimensions) {
  const std::string bytes = GgufBuilder()
                                .f32("b", {2, 3}, {1, 2, 3, 4, 5, 6})
                                .tensor("a", {2, 32}, 8, std::string(68, 'q'))
                                .bytes();
  const Gguf gguf = Gguf::parse(as_span(bytes), "m.gguf");
  ASSERT_EQ(gguf.tensors().size(), 2u);
  EXPECT_EQ(gguf.tensors()[0].name, "a");
  EXPECT_EQ(gguf.find_tensor("a")->type->name, "Q8_0");
  EXPECT_EQ(gguf.find_tensor("a")->bytes.size(), 68u);
  EXPECT_EQ(gguf.find_tensor("b")->shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(gguf.find_tensor("b")->bytes.data(), GgufBuilder::raw(1.0f).data(), 4), 0);
  EXPECT_EQ(gguf.find_tensor("none"), nullptr);
}

TEST(Gguf, RefusesOtherFiles) {
  expect_refused("", {"m.gguf: not a GGUF file"});
  expect_refused("GGU", {"not a GGUF file"});
  expect_refused("PK\x03\x04 and so on", {"not a GGUF file"});
  expect_refused("version https://git-lfs.github.com/spec/v1\n", {"Git LFS pointer"});
  expect_refused(GgufBuilder().bytes(0, 0, 1), {"version 2 or 3", "found 1"});
  expect_refused(GgufBuilder().bytes(0, 0, 0x03000000), {"big-endian"});
}

TEST(Gguf, AFileWithoutTensorsMayEndAfterItsHeader) {
  const std::string bytes = GgufBuilder().boolean("b", true).bytes().substr(0, 24 + 8 + 1 + 4 + 1);
  EXPECT_EQ(Gguf::parse(as_span(bytes), "m.gguf").boolean("b"), true);
}

TEST(Gguf, CountsAndLengthsBeyondTheFileCostNothing) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  expect_refused(GgufBuilder().bytes(kHuge, 0), {"ends early"});
  expect_refused(GgufBuilder().bytes(0, kHuge), {"ends early"});
  expect_refused(GgufBuilder().add("k", 8, GgufBuilder::raw(kHuge)).bytes(), {"ends early"});
  for (const uint32_t type : {0u, 4u, 8u, 9u, 12u}) {
    expect_refused(
        GgufBuilder().add("k", 9, GgufBuilder::raw(type) + GgufBuilder::raw(kHuge / 4)).bytes(),
        {"m.gguf"});
  }
}

TEST(Gguf, RefusesUnknownValueTypesAndDeepNesting) {
  expect_refused(GgufBuilder().add("k", 13, "").bytes(),
                 {": k: byte ", "unknown GGUF value type", "found 13"});
  expect_refused(GgufBuilder()
                     .add("k", 9, GgufBuilder::raw(uint32_t{99}) + GgufBuilder::raw(uint64_t{1}))
                     .bytes(),
                 {"unknown GGUF value type", "found 99"});
  std::string nested;
  for (int i = 0; i < 1000; ++i) {
    nested += GgufBuilder::raw(uint32_t{9}) + GgufBuilder::raw(uint64_t{1});
  }
  expect_refused(GgufBuilder().add("k", 9, nested).bytes(), {"nested too deeply"});
}

TEST(Gguf, RefusesNamesGivenTwice) {
  expect_refused(GgufBuilder().integer("k", 1).integer("k", 2).bytes(), {"given twice", "k"});
  expect_refused(GgufBuilder().f32("t", {1}, {1}).f32("t", {1}, {2}).bytes(),
                 {"m.gguf: t", "given twice"});
}

TEST(Gguf, RefusesImpossibleTensors) {
  const auto tensor = [](const Shape& shape, uint32_t type, uint64_t offset, size_t size) {
    return GgufBuilder().tensor_at("t", shape, type, offset, std::string(size, 'x')).bytes();
  };
  expect_refused(tensor({2, 32}, 16, 0, 64), {"m.gguf: t", "IQ2_XXS", "Q8_0 or Q4_K_M"});
  expect_refused(tensor({2, 32}, 77, 0, 64), {"m.gguf: t", "type 77"});
  expect_refused(tensor({2, 33}, 8, 0, 96), {"m.gguf: t", "whole blocks of 32", "[2, 33]"});
  expect_refused(tensor({2, 128}, 12, 0, 288), {"whole blocks of 256"});
  expect_refused(tensor({0}, 0, 0, 32), {"impossible tensor shape"});
  expect_refused(tensor({-1}, 0, 0, 32), {"impossible tensor shape"});
  expect_refused(tensor({int64_t{1} << 40, int64_t{1} << 40}, 0, 0, 32),
                 {"impossible tensor shape"});
  expect_refused(tensor({int64_t{1} << 62}, 0, 0, 32), {"impossible tensor shape"});
  expect_refused(tensor({int64_t{1} << 40}, 0, 0, 32), {"beyond the end", "truncated"});
  expect_refused(tensor({1, 1, 1, 1, 1}, 0, 0, 4), {"too many dimensions", "found 5"});
  expect_refused(tensor({1}, 0, 1, 32), {"misaligned", "multiple of 32", "found 1"});
  expect_refused(tensor({1}, 0, ~uint64_t{31}, 32), {"beyond the end"});
  expect_refused(tensor({1}, 0, 64, 32), {"beyond the end"});
  expect_refused(GgufBuilder()
                     .tensor_at("a", {16}, 0, 0, std::string(64, 'x'))
                     .tensor_at("b", {8}, 0, 32, "")
                     .bytes(),
                 {"m.gguf: b", "overlaps a"});
}

TEST(Gguf, TheFileChoosesItsAlignment) {
  for (const uint32_t wrong : {0u, 3u, 48u, 1u << 30}) {
    expect_refused(GgufBuilder().integer("general.alignment", wrong).bytes(),
                   {"general.alignment", "power of two"});
  }
  const std::string bytes = GgufBuilder()
                                .integer("general.alignment", 8)
                                .tensor_at("a", {2}, 0, 0, "12345678abcdefgh")
                                .tensor_at("b", {2}, 0, 8, "")
                                .bytes();
  EXPECT_NO_THROW(Gguf::parse(as_span(bytes), "m.gguf"));
}

TEST(Gguf, EveryTruncationIsRefused) {
  const std::string whole = GgufBuilder()
                                .integer("n", 1)
                                .strings("list", {"a", "bc"})
                                .f32("t", {8}, std::vector<float>(8))
                                .bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    EXPECT_THROW(Gguf::parse(as_span(cut), "m.gguf"), Error) << size;
  }
}

}  // namespace
}  // namespace lathe
