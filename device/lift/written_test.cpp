// Which registers may be read before they are written, in a few instructions of gfx950 each, and of gfx1030.
// v0 holds the work-item, s[0:3] the user's.
#include "device/lift/written.h"

#include <string>

#include "device/lift/places_test.h"

namespace morgana::device::lift {
namespace {

class WrittenTest : public FewInstructions {
 public:
  // "dword:registers" of each reader; "unknown" where the kernel cannot be followed.
  std::string found(Target target = Target::gfx950) {
    const auto code = this->code(target);
    if (!code.ok()) return code.error().message;
    codeobj::KernelDescriptor descriptor{};
    descriptor.user_sgpr_count = 4;
    written_ = find_written(*code, written_at_entry(descriptor, target), 256);
    if (!written_.is_known) return "unknown";
    std::string text;
    for (const WrittenRegisters::Reader& reader : written_.unproven) {
      text += (text.empty() ? "" : " ") + std::to_string(reader.dword) + ":";
      for (const uint16_t place : reader.registers) text += " v" + std::to_string(place);
    }
    return text;
  }

 protected:
  WrittenRegisters written_;
};

constexpr uint32_t kMove = 0x7e020280;                 // v_mov_b32_e32 v1, 0
constexpr uint32_t kMoveThree = 0x7e060280;            // v_mov_b32_e32 v3, 0
constexpr uint32_t kRead = 0x68040101;                 // v_add_u32_e32 v2, v1, v0
constexpr uint32_t kCompare = 0x7d920085;              // v_cmp_lt_u32_e32 vcc, 5, v0
constexpr uint32_t kIf = 0xbe8a206a;                   // s_and_saveexec_b64 s[10:11], vcc
constexpr uint32_t kOthers = 0x888a0a7e;               // s_xor_b64 s[10:11], exec, s[10:11]
constexpr uint32_t kElse = 0xbe8c210a;                 // s_or_saveexec_b64 s[12:13], s[10:11]
constexpr uint32_t kElseAlone = 0x88fe0c7e;            // s_xor_b64 exec, exec, s[12:13]
constexpr uint32_t kEndElse = 0x87fe0c7e;              // s_or_b64 exec, exec, s[12:13]
constexpr uint32_t kEndIf = 0x87fe0a7e;                // s_or_b64 exec, exec, s[10:11]
constexpr uint32_t kTurn = 0xbefe057e;                 // s_not_b64 exec, exec
constexpr uint32_t kAll = 0xbefe01c1;                  // s_mov_b64 exec, -1
constexpr uint32_t kAllSaved = 0xbe8a21c1;             // s_or_saveexec_b64 s[10:11], -1
constexpr uint32_t kRestore = 0xbefe010a;              // s_mov_b64 exec, s[10:11]
constexpr uint32_t kNobody = 0xbe8e0180;               // s_mov_b64 s[14:15], 0
constexpr uint32_t kLeaveLoop = 0x878e0e6a;            // s_or_b64 s[14:15], vcc, s[14:15]
constexpr uint32_t kGoOn = 0x89fe0e7e;                 // s_andn2_b64 exec, exec, s[14:15]
constexpr uint32_t kBehindLoop = 0x87fe0e7e;           // s_or_b64 exec, exec, s[14:15]
constexpr uint32_t kXor = 0x2a020301;                  // v_xor_b32_e32 v1, v1, v1
constexpr uint32_t kReadScalar = 0x80140015;           // s_add_u32 s20, s21, s0
constexpr uint32_t kCallsAway = 0xbe941e00;            // s_swappc_b64 s[20:21], s[0:1]
constexpr uint64_t kLast = 0x0001'7f01'd289'0014;      // v_readlane_b32 s20, v1, 63
constexpr uint64_t kPutThird = 0x0001'0600'd28a'0001;  // v_writelane_b32 v1, s0, 3
constexpr uint64_t kThird = 0x0001'0701'd289'0014;     // v_readlane_b32 s20, v1, 3
constexpr uint64_t kPairs = 0x1802'0100'd3b2'4002;     // v_pk_add_f32 v[2:3], v[0:1], v[0:1]
constexpr uint64_t kLowTwice = 0x0002'0100'd3b2'4002;  // v_pk_add_f32 v[2:3], v[0:1], v[0:1] op_sel_hi:[0,0]
constexpr uint64_t kSum = 0x0402'0000'd1e8'6a02;       // v_mad_u64_u32 v[2:3], vcc, s0, v0, v[0:1]
constexpr uint64_t kLoadsDword = 0x0100'0000'dc50'8000;   // global_load_dword v1, v0, s[0:1]
constexpr uint64_t kLoadHigh = 0x0100'0000'dc94'8000;     // global_load_short_d16_hi v1, v0, s[0:1]
constexpr uint64_t kStoreByte = 0x0000'0000'd83c'0000;    // ds_write_b8 v0, v0
constexpr uint64_t kStoresDword = 0x0000'0000'd81a'0000;  // ds_write_b32 v0, v0
// v_add_f32_e32 v3, v3, v3, and of v2
constexpr uint32_t kReadHigh = 0x02060703, kReadLow = 0x02040502;
// s_cbranch_execnz by dwords.
uint32_t goes_round(int by) { return 0xbf890000 | static_cast<uint16_t>(by); }

TEST_F(WrittenTest, WhatIsReadFirst) {
  *this << kRead << kRead;
  EXPECT_EQ(found(), "0: v1") << "and is tested there";
  EXPECT_EQ(written_.followed, std::vector<uint16_t>{1});
}
TEST_F(WrittenTest, WhatIsWrittenFirst) {
  *this << kMove << kRead;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, WhatIsLoaded) {
  *this << kLoadsDword << kRead;
  EXPECT_EQ(found(), "");
}

TEST_F(WrittenTest, WhatABranchWritesIsWrittenThere) {
  *this << kCompare << kIf << kMove << kRead << kEndIf << kRead;
  EXPECT_EQ(found(), "5: v1");
}
TEST_F(WrittenTest, WhatBothBranchesWrite) {
  *this << kCompare << kIf << kOthers << kMove << kElse << kElseAlone << kMove << kEndElse << kRead;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, NotWhatTheSecondBranchDoesNotWrite) {
  *this << kCompare << kIf << kOthers << kMove << kElse << kElseAlone << kEndElse << kRead;
  EXPECT_EQ(found(), "7: v1");
}
// The branch around it leads to the same.
TEST_F(WrittenTest, NotWhatABranchOfTheWaveGoesAround) {
  *this << goes_round(1) << kMove << kRead;
  EXPECT_EQ(found(), "2: v1");
}

// Lanes leave the loop behind what it writes.
TEST_F(WrittenTest, WhatALoopWritesBehindIt) {
  *this << kNobody << kMove << kCompare << kLeaveLoop << kGoOn << goes_round(-5) << kBehindLoop << kRead;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, NotWhatALoopWritesBehindItsTest) {
  *this << kNobody << kCompare << kLeaveLoop << kGoOn << kMove << goes_round(-5) << kBehindLoop << kRead;
  EXPECT_EQ(found(), "7: v1");
}

// The way in which LLVM writes lanes that are not active.
TEST_F(WrittenTest, OtherLanes) {
  *this << kMove << kTurn << kMove << kTurn << kLast;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, AllLanes) {
  *this << kAllSaved << kMove << kRestore << kRead << kLast;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, NotLanesThatAreNotActive) {
  *this << kMove << kAll << kRead;
  EXPECT_EQ(found(), "2: v1");
}
TEST_F(WrittenTest, NothingIsKnownOfALaneThatMayNotBeActive) {
  *this << kMove << kLast;
  EXPECT_EQ(found(), "unknown");
}
TEST_F(WrittenTest, OneLane) {
  *this << kPutThird << kThird;
  EXPECT_EQ(found(), "");
}
// Somebody would have to follow parts of it.
TEST_F(WrittenTest, NothingIsKnownOfARegisterThatIsWrittenInOneLane) {
  *this << kPutThird << kRead;
  EXPECT_EQ(found(), "unknown");
}
TEST_F(WrittenTest, NothingIsKnownOfHalves) {
  *this << kLoadHigh << kRead;
  EXPECT_EQ(found(Target::gfx900), "unknown");
}

// The upper half of a pair that nobody reads.
TEST_F(WrittenTest, HalvesOfPairs) {
  *this << kPairs << kReadLow << kMove << kPairs << kReadHigh;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, TheLowerHalfTwice) {
  *this << kLowTwice << kReadHigh << kReadLow;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, NothingIsKnownOfAHalfThatComesFromAnUnwrittenOne) {
  *this << kPairs << kReadHigh;
  EXPECT_EQ(found(), "unknown");
}
// Lanes of a mask, some of which EXEC has, do not hold it any more.
TEST_F(WrittenTest, NotAHalfThatOtherLanesHadWritten) {
  *this << kMoveThree << kCompare << kIf << kPairs << kRestore << kReadHigh;
  EXPECT_EQ(found(), "unknown");
}
TEST_F(WrittenTest, TheLowerHalfOfASum) {
  *this << kSum << kReadLow;
  EXPECT_EQ(found(), "");
}

TEST_F(WrittenTest, ARegisterWithItself) {
  *this << kXor << kRead;
  EXPECT_EQ(found(), "");
}
TEST_F(WrittenTest, NothingIsKnownOfScalarsAndCalls) {
  *this << kReadScalar;
  EXPECT_EQ(found(), "unknown");
  dwords_ = {kCallsAway};
  EXPECT_EQ(found(), "unknown");
}
TEST_F(WrittenTest, PartsOfDwordsInLds) {
  *this << kStoresDword;
  EXPECT_EQ(found(), "");
  EXPECT_FALSE(written_.stores_bytes);
  dwords_.clear();
  *this << kStoreByte;
  EXPECT_EQ(found(), "");
  EXPECT_TRUE(written_.stores_bytes);
}

// gfx1030: s_mov_b32 s10, exec_lo, v_cmpx_lt_u32_e32 5, v0, v_mov_b32_e32 v1, 0, s_or_b32 exec_lo, exec_lo,
// s10, v_add_nc_u32_e32 v2, v1, v0
TEST_F(WrittenTest, WavesOf32Lanes) {
  *this << 0xbe8a037eu << 0x7da20085u << 0x7e020280u << 0x887e0a7eu << 0x4a040101u;
  EXPECT_EQ(found(Target::gfx1030), "4: v1");
  dwords_ = {0x7e020280u, 0xbe8a037eu, 0x7da20085u, 0x887e0a7eu, 0x4a040101u};
  EXPECT_EQ(found(Target::gfx1030), "");
}

}  // namespace
}  // namespace morgana::device::lift
