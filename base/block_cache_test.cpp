#include "base/block_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/call_at_load.h"

namespace morgana {
namespace {

using Owned = std::pair<uint8_t*, size_t>;

Owned make_marked(size_t size, uint8_t mark) {
  auto* block = static_cast<uint8_t*>(take_block(size));
  std::memset(block, mark, size);
  return {block, size};
}

void expect_marked_and_give(const Owned& owned, uint8_t mark) {
  for (size_t i = 0; i < owned.second; ++i) ASSERT_EQ(owned.first[i], mark);
  give_block(owned.first, owned.second);
}

TEST(BlockCache, BlocksOfEverySizeAreAlignedAndApart) {
  std::vector<Owned> blocks;
  for (size_t size : {1, 8, 64, 255, 256, 257, 1000, 1024, 1025, 100000})
    for (int i = 0; i < 100; ++i) {
      blocks.push_back(make_marked(size, static_cast<uint8_t>(blocks.size())));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().first) % 64, 0u);
    }
  for (size_t i = 0; i < blocks.size(); ++i) expect_marked_and_give(blocks[i], static_cast<uint8_t>(i));
}

// One thread makes, another destroys, and both come and go: no block is ever in two hands.
TEST(BlockCache, BlocksTravelBetweenThreads) {
  for (int round = 0; round < 5; ++round) {
    std::mutex mutex;
    std::vector<Owned> travelling;
    bool done = false;
    std::thread maker([&] {
      for (int i = 0; i < 5000; ++i) {
        Owned made = make_marked(i % 3 == 0 ? 900 : 200, 0x5a);
        std::lock_guard lock(mutex);
        travelling.push_back(made);
      }
      std::lock_guard lock(mutex);
      done = true;
    });
    std::thread breaker([&] {
      for (bool last = false; !last;) {
        std::vector<Owned> mine;
        {
          std::lock_guard lock(mutex);
          mine.swap(travelling);
          last = done;
        }
        for (const Owned& owned : mine) expect_marked_and_give(owned, 0x5a);
      }
    });
    maker.join();
    breaker.join();
  }
}

// A library's constructor may wait for a thread that gives its first block.
TEST(BlockCache, NeedsNothingOfTheLoader) {
  EXPECT_TRUE(call_at_load([] { std::thread([] { give_block(take_block(64), 64); }).join(); }));
}

}  // namespace
}  // namespace morgana
