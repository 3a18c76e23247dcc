#include "support/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "support/expect_error.h"
#include "support/safetensors_bytes.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::as_span;
using testing::expect_error;
using testing::safetensors_bytes;
using testing::TestFolder;

SafetensorsHeader parse(const std::string& bytes) {
  return parse_safetensors(as_span(bytes), "m.safetensors");
}

void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
  expect_error([&] { parse(bytes); }, parts);
}

void expect_refused(std::string_view header, size_t data, const std::vector<std::string>& parts) {
  expect_refused(safetensors_bytes(header, std::string(data, 'x')), parts);
}

TEST(Safetensors, ListsTensorsByNameWithTypeShapeAndPlace) {
  const auto header = parse(safetensors_bytes(
      R"({"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},)"
      R"("a":{"dtype":"F64","shape":[],"data_offsets":[4,12]},"__metadata__":{"format":"pt"}})",
      "abcdefghijkl"));
  ASSERT_EQ(header.entries.size(), 2u);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.entries[0].type, "F64");
  EXPECT_FALSE(header.entries[0].dtype.has_value());
  EXPECT_EQ(header.entries[1].dtype, DType::bf16);
  EXPECT_EQ(header.entries[1].shape, (Shape{2, 1}));
  EXPECT_EQ(header.entries[1].size, 4u);
  EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(Safetensors, AFileOfMetadataOnlyIsValid) {
  EXPECT_TRUE(parse(safetensors_bytes(R"({"__metadata__":{"a":"b"}})", "")).entries.empty());
  EXPECT_TRUE(parse(safetensors_bytes("{}   ", "")).entries.empty());
}

TEST(Safetensors, TensorsWithoutElementsHaveNoBytes) {
  const auto header =
      parse(safetensors_bytes(R"({"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},)"
                              R"("b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                              "x"));
  EXPECT_EQ(header.entries[0].size, 0u);
}

TEST(Safetensors, RefusesShapesThatDoNotFitTheirBytes) {
  expect_refused(R"({"t":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", 4,
                 {"m.safetensors: t", "F32 [1000, 1000]", "found 4"});
  expect_refused(R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
                 {"m.safetensors: t", "does not follow from its shape"});
  expect_refused(R"({"t":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,4]}})", 4,
                 {"does not follow from its shape"});
  expect_refused(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1,
                 {"does not follow from its shape"});
}

TEST(Safetensors, RefusesAHeaderLengthBeyondTheFile) {
  expect_refused(std::string(8, '\xFF') + "{}", {"header of 18446744073709551615 bytes"});
  expect_refused("short", {"not a safetensors file", "found 5"});
  expect_refused("", {"not a safetensors file", "found 0"});
}

TEST(Safetensors, NamesAGitLfsPointer) {
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
                 {"Git LFS pointer"});
}

TEST(Safetensors, RefusesOverlapsHolesAndLeftovers) {
  expect_refused(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                 R"("b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
                 12, {"m.safetensors: b", "overlaps"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                 R"("b":{"dtype":"U8","shape":[4],"data_offsets":[8,12]}})",
                 12, {"m.safetensors: b", "hole"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8, {"hole"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, {"longer"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3,
                 {"beyond the end", "truncated"});
}

TEST(Safetensors, RefusesUnknownTypesByTensor) {
  expect_refused(R"({"w":{"dtype":"F7","shape":[1],"data_offsets":[0,1]}})", 1,
                 {"m.safetensors: w", "unknown tensor type", "F7"});
}

TEST(Safetensors, RefusesMalformedHeaders) {
  const std::string good = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  expect_refused(R"({"a":)" + good + R"(,"a":)" + good + "}", 1, {"given twice", "\"a\""});
  expect_refused("[1]", 0, {"'{'"});
  expect_refused(R"({"a":)", 0, {"not valid JSON"});
  expect_refused(R"({"a":1})", 0, {"m.safetensors: a", "an object"});
  expect_refused(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, {"dtype", "missing"});
  expect_refused(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, {"a: shape"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, {"whole numbers"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1,
                 {"whole numbers"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1,
                 {"malformed data_offsets", "[1, 0]"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, {"[begin, end]"});
  expect_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]}})", 1,
                 {"whole numbers"});
  expect_refused(R"({"__metadata__":{"a":1}})", 0, {"__metadata__: a", "a string"});
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole =
      safetensors_bytes(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(parse(whole.substr(0, size)), Error) << size;
  }
}

TEST(SafetensorsWriter, WhatItWritesReadsBackAligned) {
  const TestFolder folder;
  const std::vector<uint16_t> codes{1, 2, 3};
  const std::vector<float> values{1.5f, -2.0f};
  SafetensorsWriter writer(
      folder / "a.safetensors", {{"graph", "{\"x\": \"y\"}"}},
      {{"z.codes", DType::u16, {3}}, {"empty", DType::i8, {0, 4}}, {"values", DType::f32, {2, 1}}});
  // In pieces, as a stream of any size comes.
  const auto bytes = std::as_bytes(std::span(codes));
  writer.write("z.codes", bytes.first(1));
  writer.write("z.codes", bytes.subspan(1));
  writer.write("values", std::as_bytes(std::span(values)));
  writer.commit();

  const auto file = SafetensorsFile::open(folder / "a.safetensors");
  ASSERT_EQ(file.entries().size(), 3u);
  for (const auto& entry : file.entries()) EXPECT_EQ(entry.begin % kSafetensorsAlignment, 0u);
  EXPECT_EQ(file.metadata().at("graph"), "{\"x\": \"y\"}");
  EXPECT_EQ(std::memcmp(file.bytes(file.get("z.codes")).data(), codes.data(), 6), 0);
  EXPECT_EQ(std::memcmp(file.bytes(file.get("values")).data(), values.data(), 8), 0);
  EXPECT_EQ(file.find("__padding.0"), nullptr);
  expect_error([&] { file.get("none"); }, {"none", "missing"});
}

TEST(SafetensorsWriter, RefusesWhatWouldMakeAWrongFile) {
  const TestFolder folder;
  const std::vector<std::byte> four(4);
  SafetensorsWriter writer(folder / "a", {}, {{"a", DType::u8, {4}}, {"b", DType::u8, {2}}});
  EXPECT_THROW(writer.write("b", four), std::logic_error);
  writer.write("a", four);
  EXPECT_THROW(writer.write("b", four), std::logic_error);
  EXPECT_THROW(writer.commit(), std::logic_error);
  EXPECT_THROW(SafetensorsWriter(folder / "b", {}, {{"a", DType::u8, {1}}, {"a", DType::u8, {1}}}),
               std::logic_error);
  EXPECT_THROW(SafetensorsWriter(folder / "b", {}, {{"a", DType::i4, {2}}}), std::logic_error);
}

TEST(SafetensorsWriter, AFullDiskIsAClearLine) {
  expect_error([] { SafetensorsWriter("/dev/full", {}, {{"a", DType::u8, {4}}}); },
               {"/dev/full", "No space left"});
}

}  // namespace
}  // namespace lathe
