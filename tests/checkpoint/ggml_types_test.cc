#include "checkpoint/ggml_types.h"

#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/test_files.h"

namespace lathe {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// tests/data/ggml/blocks.json: random blocks of every type, the second one with a tiny (and, where
// the type has a sign for it, negative) scale, and their values as the Python package `gguf` 0.19.0
// (gguf.quants.dequantize) gives them.
TEST(GgmlTypes, EveryTypeWidensToTheBitsOfTheReference) {
  const auto golden =
      nlohmann::json::parse(testing::read_bytes(LATHE_TEST_DATA "/ggml/blocks.json"));
  ASSERT_EQ(golden["types"].size(), 16u);
  for (const auto& item : golden["types"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    const GgmlType* type = find_ggml_type(item["id"].get<uint32_t>());
    ASSERT_NE(type, nullptr);
    EXPECT_EQ(type->name, item["name"].get<std::string>());
    // Behind one odd byte: GGUF data of any alignment must do.
    std::string bytes(1, 'x');
    bytes += from_hex(item["bytes"].get<std::string>());
    const auto expected = item["values"].get<std::vector<float>>();
    ASSERT_EQ(static_cast<int64_t>(bytes.size() - 1) / type->bytes * type->block,
              static_cast<int64_t>(expected.size()));
    std::vector<float> values(expected.size());
    type->widen(reinterpret_cast<const std::byte*>(bytes.data()) + 1, values);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected[i])) << i;
    }
  }
}

TEST(GgmlTypes, NamesTypesThatAreNotRead) {
  EXPECT_EQ(find_ggml_type(16), nullptr);
  EXPECT_EQ(ggml_type_name(16), "IQ2_XXS");
  EXPECT_EQ(ggml_type_name(34), "TQ1_0");
  EXPECT_EQ(ggml_type_name(4), "type 4");
  EXPECT_EQ(ggml_type_name(4000000000u), "type 4000000000");
}

}  // namespace
}  // namespace lathe
