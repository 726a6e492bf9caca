// Loads of one place by all lanes, also under a partial EXEC and none: what follows from them is known to be
// the same in all lanes. Compiled code leaves the interpreter's registers.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx90a: s[10:11] are the bytes, s[14:15] is EXEC of the second half, s[12:13] its bytes.
//   v_mov_b32 v1, 0
//   global_load_dword v2, v1, s[10:11] offset:4
//   global_load_ushort v3, v1, s[10:11] offset:8
//   global_load_sbyte v4, v1, s[10:11] offset:11
//   v_mov_b32 v6, s10
//   v_mov_b32 v7, s11
//   global_load_dwordx2 v[6:7], v[6:7], off offset:16
//   s_mov_b64 exec, s[14:15]
//   global_load_dword v8, v1, s[12:13] offset:4
//   global_load_ubyte v9, v1, s[12:13] offset:9
//   v_mov_b32 v10, s12
//   v_mov_b32 v11, s13
//   global_load_dwordx3 v[10:12], v[10:11], off offset:20
//   s_waitcnt vmcnt(0)
//   v_add_u32 v13, v8, v0
//   s_mov_b64 exec, -1
//   v_mul_lo_u32 v14, v4, v4
//   v_lshl_add_u32 v14, v0, 2, v14
//   global_load_dword v15, v14, s[10:11]
//   s_waitcnt vmcnt(0)
constexpr std::string_view kCode =
    "8002027e048050dc01000a02088048dc01000a030b8044dc01000a040a020c7e"
    "0b020e7e108054dc06007f060e01febe048050dc01000c08098040dc01000c09"
    "0c02147e0d02167e148058dc0a007f0a700f8cbf08011a68c101febe0e0085d2"
    "040902000e00fdd100053904008050dc0e000a0f700f8cbf";

TEST(OnePlace, LoadsAreTheSameInAllLanes) {
  alignas(16) std::array<uint32_t, 128> bytes{};
  for (uint32_t i = 0; i < bytes.size(); i++) bytes[i] = i;
  bytes[2] = 0xfe00'0003;  // 3 and -2
  WaveRig rig(Target::gfx90a, dwords_of_hex(kCode), {.begins_full = true});
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{0xff00}, uint64_t{0}}) {
    std::array<uint32_t, 14 * kLanes> registers[2];
    for (const bool compiled : {false, true}) {
      rig.restart();
      const auto at = reinterpret_cast<uint64_t>(bytes.data()), behind = exec == 0 ? uint64_t{0} : at;
      std::memcpy(&rig.s(10), &at, 8);
      std::memcpy(&rig.s(12), &behind, 8);
      std::memcpy(&rig.s(14), &exec, 8);
      for (int r = 2; r < 16; r++)
        for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(100 * r + lane);
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
      for (int r = 0; r < 14; r++)
        for (int lane = 0; lane < kLanes; lane++)
          registers[compiled][static_cast<size_t>(r) * kLanes + static_cast<size_t>(lane)] =
              rig.v(r + 2, lane);
    }
    EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    EXPECT_EQ(registers[0], registers[1]) << std::hex << exec;
  }
}

// For gfx90a: s[12:13] is where, s[14:15] is EXEC.
//   s_mov_b64 exec, s[14:15]
//   v_mov_b32 v1, 0
//   global_load_dwordx4 v[4:7], v1, s[12:13] offset:16
constexpr std::string_view kSixteen = "0e01febe8002027e10805cdc01000c04";
//   s_mov_b64 exec, s[14:15]
//   v_mov_b32 v2, s12
//   v_mov_b32 v3, s13
//   global_load_ubyte v8, v[2:3], off offset:3
constexpr std::string_view kByte = "0e01febe0c02047e0d02067e038040dc02007f08";

// The lane that faults is the first one that executes.
TEST(OnePlace, FaultsLieThere) {
  struct Case {
    std::string_view code;
    uint32_t offset;
  };
  const Case cases[] = {{kSixteen, 16}, {kByte, 3}};
  constexpr size_t kPage = 4096;
  void* const page = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  for (const Case& one : cases) {
    WaveRig rig(Target::gfx90a, dwords_of_hex(one.code), {.begins_full = true});
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{0xff00}})
      for (const bool compiled : {false, true}) {
        rig.restart();
        const auto at = reinterpret_cast<uint64_t>(page);
        std::memcpy(&rig.s(12), &at, 8);
        std::memcpy(&rig.s(14), &exec, 8);
        EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::fault);
        EXPECT_EQ(rig.fault().address, at + one.offset) << std::hex << exec << ' ' << compiled;
        EXPECT_EQ(rig.fault().work_item[0], static_cast<uint32_t>(std::countr_zero(exec)));
      }
  }
  munmap(page, kPage);
}

}  // namespace
}  // namespace morgana::device
