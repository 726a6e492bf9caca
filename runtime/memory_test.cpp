#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/address_space.h"

namespace morgana::runtime {
namespace {

TEST(Memory, IsZeroAndAligned) {
  for (uint64_t size : {uint64_t{1}, uint64_t{100}, uint64_t{65536}, uint64_t{1} << 24}) {
    for (uint64_t alignment : {uint64_t{1}, uint64_t{256}, uint64_t{65536}}) {
      auto memory = allocate(size, alignment, "test");
      ASSERT_TRUE(memory.ok());
      EXPECT_EQ(reinterpret_cast<uint64_t>(*memory) % alignment, 0u);
      auto* bytes = static_cast<uint8_t*>(*memory);
      EXPECT_EQ(bytes[0], 0);
      EXPECT_EQ(bytes[size - 1], 0);
      std::memset(bytes, 0xff, size);
      release(*memory);
    }
  }
}

TEST(Memory, LargeBlocksAreReservedLazily) {
  auto memory = allocate(uint64_t{1} << 40, 4096, "huge");
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  static_cast<uint8_t*>(*memory)[uint64_t{1} << 39] = 1;
  release(*memory);
}

TEST(Memory, RefusesImpossibleRequests) {
  EXPECT_EQ(allocate(uint64_t{1} << 60, 4096, "test").error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(allocate(16, 3, "test").error().code, ErrorCode::invalid_argument);
}

TEST(Memory, NamesTheAllocationThatHoldsOrIsNearestToAnAddress) {
  auto memory = allocate(4096, 4096, "first");
  ASSERT_TRUE(memory.ok());
  auto address = reinterpret_cast<uint64_t>(*memory);
  EXPECT_EQ(find_allocation(address + 4095)->label, "first");
  EXPECT_FALSE(find_allocation(address + 4096).has_value() &&
               find_allocation(address + 4096)->label == "first");
  EXPECT_EQ(nearest_allocation(address + 4100)->label, "first");
  uint64_t before = allocated_bytes();
  release(*memory);
  EXPECT_EQ(allocated_bytes(), before - 4096);

  int host[4];
  register_host(host, sizeof host, "host");
  EXPECT_TRUE(find_allocation(reinterpret_cast<uint64_t>(&host[3]))->registered);
  unregister_host(host);
  EXPECT_FALSE(find_allocation(reinterpret_cast<uint64_t>(&host[3])).has_value());
}

uint64_t place(uint64_t size, Use use = Use::data) {
  auto memory = allocate(size, 256, "place", use);
  EXPECT_TRUE(memory.ok());
  return reinterpret_cast<uint64_t>(*memory);
}
void free_place(uint64_t address) { release(reinterpret_cast<void*>(address)); }
uint8_t& byte_at(uint64_t address) { return *reinterpret_cast<uint8_t*>(address); }

TEST(Memory, IsFarFromTheHeap) {
  const std::unique_ptr<int> heap(new int);
  int stack;
  for (uint64_t size : {uint64_t{16}, uint64_t{4096}, uint64_t{60000}, uint64_t{1} << 20}) {
    const uint64_t address = place(size);
    for (const void* host : {static_cast<const void*>(heap.get()), static_cast<const void*>(&stack)}) {
      const auto other = reinterpret_cast<uint64_t>(host);
      EXPECT_GT(std::max(other, address) - std::min(other, address), uint64_t{1} << 30);
    }
    free_place(address);
  }
}

TEST(Memory, OfKernelsAndOfTheRuntimeLieApart) {
  std::vector<uint64_t> data, own;
  for (int i = 0; i < 100; ++i) {
    data.push_back(place(300));
    own.push_back(place(300, Use::runtime));
  }
  for (const uint64_t a : data)
    for (const uint64_t b : own) EXPECT_GT(std::max(a, b) - std::min(a, b), 60'000u);
  for (const uint64_t address : data) free_place(address);
  for (const uint64_t address : own) free_place(address);
}

TEST(Memory, IsNotHandedOutAgainAtOnce) {
  const bool small_ones_wait = guard_mode() != GuardMode::off;
  for (uint64_t size : {uint64_t{256}, uint64_t{40000}, uint64_t{1} << 20}) {
    if (size < 65536 && !small_ones_wait) continue;
    const uint64_t first = place(size);
    free_place(first);
    std::vector<uint64_t> next;
    for (int i = 0; i < 10; ++i) next.push_back(place(size));
    for (const uint64_t address : next) {
      EXPECT_NE(address, first);
      free_place(address);
    }
  }
}

TEST(Memory, ThatWasFreedReturnsZeroFilled) {
  std::set<uint64_t> seen;
  bool returned = false;
  for (int i = 0; i < 600 && !returned; ++i) {
    const uint64_t address = place(4000);
    for (uint64_t k = 0; k < 4000; ++k) ASSERT_EQ(byte_at(address + k), 0);
    std::memset(&byte_at(address), 0xee, 4000);
    returned = !seen.insert(address).second;
    free_place(address);
  }
  EXPECT_TRUE(returned || guard_mode() == GuardMode::strict);
}

TEST(Memory, WritesBehindItAreFoundOnce) {
  // Strictly only an alignment's rest lies behind it.
  const bool strict = guard_mode() == GuardMode::strict;
  for (uint64_t size : {uint64_t{1}, uint64_t{257}, uint64_t{3000}, uint64_t{65500}, uint64_t{100'001}}) {
    const uint64_t address = place(size), last = strict ? 30 : 99;
    std::memset(&byte_at(address), 0, size);
    EXPECT_TRUE(is_whole(address));
    byte_at(address + size) = 0xff;
    byte_at(address + size + last) = 0xff;
    if (guard_mode() == GuardMode::off) {
      EXPECT_TRUE(is_whole(address));
      free_place(address);
      continue;
    }
    EXPECT_FALSE(is_whole(address + size / 2));
    const auto overrun = take_overrun(address);
    ASSERT_TRUE(overrun.has_value());
    EXPECT_EQ(overrun->allocation.size, size);
    EXPECT_EQ(overrun->allocation.label, "place");
    EXPECT_EQ(overrun->damage.first, 0u);
    EXPECT_EQ(overrun->damage.last, last);
    EXPECT_EQ(overrun->damage.bytes, 2u);
    EXPECT_FALSE(take_overrun(address).has_value());
    free_place(address);
  }
}

TEST(Memory, EndsAsTheOptionSays) {
  for (uint64_t size : {uint64_t{256}, uint64_t{4096}, uint64_t{1} << 20}) {
    const uint64_t address = place(size);
    volatile uint8_t& next = byte_at(address + size);
    switch (guard_mode()) {
      case GuardMode::strict: EXPECT_DEATH(static_cast<void>(next), ""); break;
      case GuardMode::gpu:
        EXPECT_LE(next, 0x7f);
        if (size > 65536) EXPECT_DEATH(next = 1, "");
        break;
      case GuardMode::off: next = 0; break;
    }
    free_place(address);
  }
}

TEST(Memory, ManyThreadsAllocateAndFree) {
  const uint64_t before = allocated_bytes();
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> shared;  // freed by other threads
  for (uint32_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<std::pair<uint64_t, uint64_t>> mine;
      for (int i = 0; i < 1000; ++i) {
        const uint64_t size = random() % 50 == 0 ? 1 + random() % 300'000 : 1 + random() % 3000;
        const uint64_t address = place(size, random() % 4 == 0 ? Use::runtime : Use::data);
        EXPECT_EQ(byte_at(address), 0);
        EXPECT_EQ(byte_at(address + size - 1), 0);
        byte_at(address) = byte_at(address + size - 1) = static_cast<uint8_t>(1 + t);
        mine.emplace_back(address, size);
        if (random() % 2 == 0) {
          const size_t which = random() % mine.size();
          EXPECT_TRUE(is_whole(mine[which].first));
          EXPECT_EQ(byte_at(mine[which].first + mine[which].second - 1), 1 + t);
          free_place(mine[which].first);
          mine[which] = mine.back();
          mine.pop_back();
        }
      }
      std::lock_guard lock(mutex);
      shared.insert(shared.end(), mine.begin(), mine.end());
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& [address, size] : shared) {
    EXPECT_EQ(find_allocation(address)->size, size);
    free_place(address);
  }
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(AddressSpace, JoinsWhatIsGivenBack) {
  AddressSpace space(uint64_t{16} << 30);
  ASSERT_EQ(space.size(), uint64_t{16} << 30);
  constexpr uint64_t kSize = uint64_t{1} << 30;
  std::vector<uint64_t> all;
  for (int i = 0; i < 16; ++i) all.push_back(space.take(kSize, 0, 4096));
  for (const uint64_t address : all) {
    EXPECT_TRUE(space.holds(address));
    ASSERT_TRUE(space.vacate(address, kSize));
  }
  const uint64_t outside = space.take(kSize, 0, 65536);
  EXPECT_FALSE(space.holds(outside));
  EXPECT_FALSE(space.vacate(outside, kSize));
  for (size_t i = 0; i < 16; i += 2) space.give(all[i], kSize);
  for (size_t i = 1; i < 16; i += 2) space.give(all[i], kSize);
  EXPECT_TRUE(space.holds(space.take(16 * kSize, 0, 4096)));
}

TEST(AddressSpace, AlignsWhatLiesBehindTheLead) {
  AddressSpace space(uint64_t{16} << 30);
  for (const uint64_t alignment : {uint64_t{65536}, uint64_t{2} << 20, uint64_t{1} << 30})
    for (const uint64_t lead : {uint64_t{0}, uint64_t{65536}}) {
      const uint64_t at = space.take(uint64_t{3} << 20, lead, alignment);
      ASSERT_NE(at, 0u);
      EXPECT_EQ((at + lead) % alignment, 0u);
    }
}

// `ulimit -v` counts addresses that are reserved.
TEST(AddressSpace, ReservesNothingWhereAddressesAreCounted) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer's own memory is beyond every limit that counts";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit limit{std::min<rlim_t>(before.rlim_cur, uint64_t{1} << 46), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  AddressSpace space(AddressSpace::kMost);
  EXPECT_EQ(space.size(), 0u);
  const uint64_t address = space.take(1 << 20, 4096, 65536);
  EXPECT_NE(address, 0u);
  EXPECT_EQ((address + 4096) % 65536, 0u);
  EXPECT_FALSE(space.vacate(address, 1 << 20));
  setrlimit(RLIMIT_AS, &before);
}

}  // namespace
}  // namespace morgana::runtime
