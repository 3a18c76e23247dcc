#include "support/hasher.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// `printf '' | xxh128sum` and `printf abc | xxh128sum`, xxHash 0.8.1.
TEST(Hasher, IsXxh3Of128Bits) {
  Hasher hasher;
  EXPECT_EQ(hasher.hex(), "99aa06d3014798d86001c324468d497f");
  hasher.add(bytes_of("abc"));
  EXPECT_EQ(hasher.hex(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hasher, PiecesGiveWhatTheWholeGives) {
  const std::string text(1000, 'x');
  Hasher whole;
  whole.add(bytes_of(text));
  Hasher pieces;
  for (size_t i = 0; i < text.size(); i += 100) pieces.add(bytes_of(text).subspan(i, 100));
  EXPECT_EQ(pieces.hex(), whole.hex());
}

TEST(Hasher, TextsInARowAreNotTheirJoin) {
  Hasher a;
  a.add(std::string_view("ab"));
  a.add(std::string_view("c"));
  Hasher b;
  b.add(std::string_view("a"));
  b.add(std::string_view("bc"));
  EXPECT_NE(a.hex(), b.hex());
}

}  // namespace
}  // namespace lathe
