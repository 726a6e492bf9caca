// Where waves take turns, in a few instructions of gfx950 each, and of gfx1200.
#include "device/lift/turns.h"

#include "device/lift/places_test.h"

namespace morgana::device::lift {
namespace {

constexpr uint32_t kWait = 0xbf8cc07f, kBarrier = 0xbf8a0000;
constexpr uint32_t kLoadToLds = 0xdca88000;  // global_load_lds_dword

// ds_read_b32 v9, v[address]; ds_write_b32 v[address], v9; v_add_u32 v[to], 1, v[to]
uint64_t read(uint32_t address) { return uint64_t{9u << 24 | address} << 32 | 0xd86c0000; }
uint64_t write(uint32_t address) { return uint64_t{9u << 8 | address} << 32 | 0xd81a0000; }
uint32_t change(uint32_t to) { return 0x68000081 | to << 9 | to << 17; }

using Turns = PlacesOf<find_turns>;

TEST_F(Turns, AtTheWaitBetweenAReadAndAWriteElsewhere) {
  *this << read(1) << kWait << write(2);
  EXPECT_EQ(found(), Places{2});
}

// ds_load_b32 v9, v1; s_wait_dscnt 0; [s_barrier_signal -1; s_barrier_wait -1;] ds_store_b32 v2, v9
constexpr uint64_t kLoad = 0x0900'0001'd8d8'0000, kStore = 0x0000'0902'd834'0000;
TEST_F(Turns, AtWaitsOfLaterGenerations) {
  *this << kLoad << 0xbfc60000u << kStore;
  EXPECT_EQ(found(Target::gfx1200), Places{2});
}
TEST_F(Turns, NotBehindABarrierInTwoParts) {
  *this << kLoad << 0xbfc60000u << 0xbe804ec1u << 0xbf94ffffu << kStore;
  EXPECT_EQ(found(Target::gfx1200), Places{});
}

TEST_F(Turns, NotBehindABarrier) {
  *this << read(1) << kWait << kBarrier << write(2);
  EXPECT_EQ(found(), Places{});
}

TEST_F(Turns, NotWhereALaneWritesAtAnAddressThatItRead) {
  *this << read(1) << read(2) << kWait << write(2) << write(1);
  EXPECT_EQ(found(), Places{});
}

TEST_F(Turns, ARegisterThatChangesIsAnotherAddress) {
  *this << read(1) << kWait << change(1) << write(1);
  EXPECT_EQ(found(), Places{2});
}

TEST_F(Turns, WhereALoadFillsTheTile) {
  *this << read(1) << kWait << kLoadToLds << 0x00020001u << kWait;
  EXPECT_EQ(found(), Places{2});
}

TEST_F(Turns, OnceForAllWritesBehindIt) {
  *this << read(1) << kWait << write(2) << kWait << write(3) << kWait << write(4);
  EXPECT_EQ(found(), Places{2});
}

TEST_F(Turns, AtTheLastWait) {
  *this << read(1) << kWait << kWait << change(5) << write(2);
  EXPECT_EQ(found(), Places{3});
}

TEST_F(Turns, NotWhereNothingIsWaitedFor) {
  *this << read(1) << write(2);
  EXPECT_EQ(found(), Places{});
}

TEST_F(Turns, RoundALoopAndOnBothWaysToAWrite) {
  // 0: write; 2: barrier; 3: read; 5: branch to 7; 6: wait and on; 7: wait; 8: branch to 0
  *this << write(2) << kBarrier << read(1) << 0xbf850002u << kWait << 0xbf820001u << kWait << 0xbf84fff6u;
  EXPECT_EQ(found(), (Places{6, 8}));
}

TEST_F(Turns, NoneInCodeThatOnlyReads) {
  *this << read(1) << kWait << read(2);
  EXPECT_EQ(found(), Places{});
}

}  // namespace
}  // namespace morgana::device::lift
