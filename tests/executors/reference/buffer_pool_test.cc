#include "executors/reference/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lathe {
namespace {

TEST(BufferPool, BuffersAreAligned) {
  BufferPool pool;
  for (const int64_t bytes : {0, 1, 63, 64, 65, 1000}) {
    const auto buffer = pool.take(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.get()) % 64, 0u);
  }
}

TEST(BufferPool, AFreedBufferServesTheNextOfItsSize) {
  BufferPool pool;
  auto first = pool.take(1000);
  const std::byte* memory = first.get();
  first.reset();
  EXPECT_EQ(pool.take(990).get(), memory);
}

TEST(BufferPool, ALargeBufferIsNotWastedOnASmallValue) {
  BufferPool pool;
  auto first = pool.take(1 << 20);
  const std::byte* memory = first.get();
  first.reset();
  EXPECT_NE(pool.take(1000).get(), memory);
}

TEST(BufferPool, CountsWhatIsOwned) {
  BufferPool pool;
  auto a = pool.take(640);
  auto b = pool.take(64);
  EXPECT_EQ(pool.live_bytes(), 704);
  a.reset();
  EXPECT_EQ(pool.live_bytes(), 64);
  EXPECT_EQ(pool.peak_bytes(), 704);
  pool.restart_peak();
  EXPECT_EQ(pool.peak_bytes(), 64);
}

TEST(BufferPool, BuffersMayOutliveThePool) {
  std::shared_ptr<std::byte> buffer;
  {
    BufferPool pool;
    buffer = pool.take(64);
  }
  buffer.get()[63] = std::byte{1};
  EXPECT_EQ(buffer.get()[63], std::byte{1});
}

}  // namespace
}  // namespace lathe
