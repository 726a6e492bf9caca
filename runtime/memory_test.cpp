#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <cstring>

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

}  // namespace
}  // namespace morgana::runtime
