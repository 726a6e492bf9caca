// Which accesses to LDS are quiet, in a few instructions of gfx950 each, and of gfx1200.
#include "device/lift/quiet.h"

#include "device/lift/places_test.h"

namespace morgana::device::lift {
namespace {

constexpr uint32_t kEndsSection = 0xbf8a0000;
constexpr uint64_t kReads32 = 0x0900'0001'd86c'0000;    // ds_read_b32 v9, v1
constexpr uint64_t kWrites32 = 0x0000'0901'd81a'0000;   // ds_write_b32 v1, v9
constexpr uint64_t kAdds32 = 0x0000'0901'd800'0000;     // ds_add_u32 v1, v9
constexpr uint64_t kAddsBack = 0x0900'0901'd840'0000;   // ds_add_rtn_u32 v9, v1, v9
constexpr uint64_t kFlatStore = 0x0000'0901'dc70'0000;  // flat_store_dword v[1:2], v9
constexpr uint64_t kFillsLds = 0x0002'0001'dca8'8000;   // global_load_lds_dword
constexpr uint32_t kCall = 0xbe8a1e08;                  // s_swappc_b64 s[10:11], s[8:9]
// s_cbranch_scc1 by dwords.
uint32_t branch(int by) { return 0xbf850000 | static_cast<uint16_t>(by); }

using Quiet = PlacesOf<find_quiet_lds>;

TEST_F(Quiet, ReadsBetweenBarriers) {
  *this << kWrites32 << kEndsSection << kReads32 << kReads32 << kEndsSection << kWrites32;
  EXPECT_EQ(found(), (Places{3, 5}));
}

TEST_F(Quiet, NotBesideAWrite) {
  *this << kReads32 << kWrites32 << kEndsSection << kReads32;
  EXPECT_EQ(found(), Places{5});
}

// The loop's turn goes past the barrier, and ends with a write that others' reads of the next may meet.
TEST_F(Quiet, NotWhereALoopComesBackWithAWrite) {
  *this << kEndsSection << kReads32 << kWrites32 << branch(-6);
  EXPECT_EQ(found(), Places{});
}
TEST_F(Quiet, InALoopWithTwoBarriers) {
  *this << kWrites32 << kEndsSection << kReads32 << kEndsSection << branch(-7);
  EXPECT_EQ(found(), Places{3});
}

// One way around the barrier is enough.
TEST_F(Quiet, NotWhereABranchGoesAroundTheBarrier) {
  *this << kWrites32 << branch(1) << kEndsSection << kReads32;
  EXPECT_EQ(found(), Places{});
}

TEST_F(Quiet, AtomicsAmongThemselves) {
  *this << kWrites32 << kEndsSection << kAdds32 << kAdds32 << kEndsSection << kReads32;
  EXPECT_EQ(found(), (Places{3, 5, 8}));
}
TEST_F(Quiet, NotAtomicsBesideReads) {
  *this << kWrites32 << kEndsSection << kAdds32 << kReads32;
  EXPECT_EQ(found(), Places{});
}
// What it gives back may be a flag.
TEST_F(Quiet, NotAtomicsThatGiveSomethingBack) {
  *this << kAddsBack << kAddsBack;
  EXPECT_EQ(found(), Places{});
}

TEST_F(Quiet, NotWhereALoadFillsLds) {
  *this << kReads32 << kFillsLds;
  EXPECT_EQ(found(), Places{});
}
TEST_F(Quiet, NotBesideAFlatStore) {
  *this << kReads32 << kFlatStore;
  EXPECT_EQ(found(), Places{});
}
TEST_F(Quiet, NothingWhereCodeIsCalled) {
  *this << kReads32 << kCall;
  EXPECT_EQ(found(), Places{});
}

// s_barrier_signal -1, ds_load_b32 v9, v1, s_barrier_wait -1
TEST_F(Quiet, NothingWhereBarriersAreInTwoParts) {
  *this << 0xbe804ec1u << uint64_t{0x0900'0001'd8d8'0000} << 0xbf94ffffu;
  EXPECT_EQ(found(Target::gfx1200), Places{});
}

}  // namespace
}  // namespace morgana::device::lift
