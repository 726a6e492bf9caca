// Loads and stores at indices that were clamped or chosen: with and without an effect on some lane, with sums
// that wrap, around a loop, under a partial EXEC. Compiled code leaves the interpreter's registers and
// memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx950:
//   v_add_u32 v1, s4, v0
//   v_max_i32 v2, 2, v1
//   v_add_u32 v2, -2, v2
//   v_min_i32 v2, s5, v2
//   v_lshlrev_b32 v3, 2, v2
//   global_load_dword v10, v3, s[10:11]
//   v_max_i32 v4, -2, v1
//   v_add_u32 v4, 2, v4
//   v_min_i32 v4, s5, v4
//   v_max_i32 v4, 0, v4
//   v_ashrrev_i32 v5, 31, v4
//   v_lshl_add_u64 v[6:7], v[4:5], 2, s[10:11]
//   global_load_dword v11, v[6:7], off
//   v_mov_b32 v8, s5
//   v_med3_i32 v8, v1, 0, v8
//   v_lshlrev_b32 v9, 2, v8
//   global_load_dwordx2 v[12:13], v9, s[10:11]
//   global_load_ubyte v20, v8, s[10:11]
//   global_store_dword v9, v0, s[12:13]
//   v_min_u32 v14, s5, v1
//   v_cmp_eq_u32 vcc, s5, v14
//   v_add_u32 v15, 1, v14
//   v_mov_b32 v16, 0
//   v_cndmask_b32 v15, v15, v16, vcc
//   v_lshlrev_b32 v15, 2, v15
//   global_load_dword v17, v15, s[10:11]
//   v_mov_b32 v18, v0
//   v_mov_b32 v19, 0
//   s_mov_b32 s6, 0
//   s_waitcnt vmcnt(0)
//   v_lshlrev_b32 v21, 2, v18
//   global_load_dword v22, v21, s[10:11]
//   v_add_u32 v18, s4, v18
//   v_max_i32 v18, 0, v18
//   v_min_i32 v18, s5, v18
//   s_add_i32 s6, s6, 1
//   s_cmp_lt_u32 s6, 5
//   s_waitcnt vmcnt(0)
//   v_add_u32 v19, v19, v22
//   s_cbranch_scc1 65525
//   v_mov_b32 v27, s11
//   v_add_co_u32 v26, vcc, s10, v3
//   v_addc_co_u32 v27, vcc, 0, v27, vcc
//   global_load_dword v28, v[26:27], off
//   s_mov_b64 exec, s[20:21]
//   v_lshlrev_b32 v21, 2, v18
//   global_load_dword v23, v21, s[10:11]
//   global_load_dword v24, v3, s[10:11] offset:4
//   global_store_dword v3, v24, s[12:13] offset:4
//   v_add_u32 v14, 1, v14
//   v_lshlrev_b32 v29, 2, v14
//   global_load_dword v30, v29, s[10:11]
//   s_mov_b64 exec, -1
//   s_waitcnt vmcnt(0)
constexpr std::string_view kCode =
    "040002688202041ac20404680504041882040624008050dc03000a0ac202081a"
    "82080868050808188008081a9f080a22060008d204052900008050dc06007f0b"
    "0502107e0800d7d10101210482101224008054dc09000a0c008040dc08000a14"
    "008070dc09000c0005021c1c051c947d811c1e688002207e0f211e00821e1e24"
    "008050dc0f000a110003247e8002267e800086be700f8cbf82242a24008050dc"
    "15000a16042424688024241a052424180681068106850abf700f8cbf132d2668"
    "f5ff85bf0b02367e0a06343280363638008050dc1a007f1c1401febe82242a24"
    "008050dc15000a17048050dc03000a18048070dc03180c00811c1c68821c3a24"
    "008050dc1d000a1ec101febe700f8cbf";

constexpr uint32_t kLast = 499;

struct Outcome {
  Exit exit;
  std::vector<uint32_t> registers, stored;
};

// With the registers that it leaves, but for those that hold addresses.
Outcome execute(WaveRig& rig, bool compiled, std::initializer_list<int> addresses) {
  for (int r = 1; r < 32; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 1000 + lane);
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  EXPECT_TRUE(!compiled || rig.kernel() != nullptr);
  for (int r = 0; r < 32; r++)
    if (std::ranges::find(addresses, r) == addresses.end())
      for (int lane = 0; lane < kLanes; lane++) outcome.registers.push_back(rig.v(r, lane));
  return outcome;
}

Outcome run(uint32_t first, uint64_t some_lanes, bool compiled) {
  RigOptions options;
  options.vgprs = 32;
  options.begins_full = true;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), options);
  // Whole pages, so that a window at the end of a row would reach into another.
  alignas(4096) static uint32_t from[1024];
  std::vector<uint32_t> to(kLast + 2);
  for (uint32_t i = 0; i < 1024; i++) from[i] = i * 2654435761u;
  const auto put = [&](int s, const void* pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    std::memcpy(&rig.s(s), &address, 8);
  };
  put(10, from + 1024 - kLast - 3), put(12, to.data());
  rig.s(4) = first, rig.s(5) = kLast;
  std::memcpy(&rig.s(20), &some_lanes, 8);
  Outcome outcome = execute(rig, compiled, {6, 7});
  outcome.stored = to;
  return outcome;
}

TEST(SupposedShapes, MoveWhatTheInterpreterMoves) {
  for (const uint32_t first :
       {0u, 1u, 100u, 435u, 436u, 437u, 480u, 600u, ~0u, ~1u, ~30u, ~100u, 0x7fffffdfu, 0x80000000u})
    for (const uint64_t lanes : {~uint64_t{0}, uint64_t{0xfff0'8000'0101'7ff0}, uint64_t{0}}) {
      const Outcome interpreted = run(first, lanes, false), compiled = run(first, lanes, true);
      EXPECT_EQ(interpreted.exit, Exit::ended);
      EXPECT_EQ(interpreted.exit, compiled.exit);
      EXPECT_EQ(interpreted.registers, compiled.registers) << first << " " << std::hex << lanes;
      EXPECT_EQ(interpreted.stored, compiled.stored) << first << " " << std::hex << lanes;
    }
}

// For gfx900, whose sums of 64 bits are two instructions:
//   v_add_u32 v1, s4, v0
//   v_max_i32 v2, s6, v1
//   v_min_i32 v2, s5, v2
//   v_ashrrev_i32 v3, 31, v2
//   v_lshlrev_b64 v[4:5], 2, v[2:3]
//   v_mov_b32 v6, s11
//   v_add_co_u32 v8, vcc, s10, v4
//   v_addc_co_u32 v9, vcc, v6, v5, vcc
//   global_load_dword v7, v[8:9], off
//   v_max_i32 v10, 0, v2
//   v_mov_b32 v11, 0
//   v_lshlrev_b64 v[10:11], 2, v[10:11]
//   v_add_co_u32 v12, vcc, s10, v10
//   v_addc_co_u32 v13, vcc, v6, v11, vcc
//   s_and_b64 exec, exec, s[20:21]
//   global_load_dwordx2 v[14:15], v[12:13], off
//   global_load_ushort v16, v[8:9], off offset:2
//   v_add_co_u32 v4, vcc, s12, v4
//   v_addc_co_u32 v5, vcc, v6, v5, vcc
//   s_waitcnt vmcnt(0)
//   global_store_dword v[4:5], v7, off
constexpr std::string_view kByHalves =
    "040002680602041a050404189f04062204008fd2820402000b020c7e0a081032060b1238008050dc"
    "08007f078004141a8002167e0a008fd2821402000a14183206171a387e14fe86008054dc0c007f0e"
    "028048dc08007f100c080832060b0a38700f8cbf008070dc04077f00";

// Around the address that `middle` dwords from the beginning of the memory are at.
Outcome run_by_halves(uint32_t* memory, size_t dwords, size_t middle, uint32_t first, uint64_t some_lanes,
                      bool compiled) {
  RigOptions options;
  options.vgprs = 32;
  options.begins_full = true;
  WaveRig rig(Target::gfx900, dwords_of_hex(kByHalves), options);
  for (uint32_t i = 0; i < dwords; i++) memory[i] = i * 2654435761u;
  const auto address = reinterpret_cast<uint64_t>(memory + middle);
  std::memcpy(&rig.s(10), &address, 8);
  rig.s(12) = rig.s(10) + 4096;
  rig.s(4) = first, rig.s(5) = 300, rig.s(6) = static_cast<uint32_t>(-300);
  std::memcpy(&rig.s(20), &some_lanes, 8);
  Outcome outcome = execute(rig, compiled, {});
  outcome.stored.assign(memory, memory + dwords);
  return outcome;
}

// Lower halves carry into the upper ones where negative indices lie below a multiple of 2^32.
TEST(SupposedShapes, OfSumsByHalves) {
  constexpr size_t kDwords = 5 * 1024, kMiddle = 2 * 1024;
  void* const wanted = reinterpret_cast<void*>(uint64_t{0x1300000000} - 4 * kMiddle);
  void* const memory = mmap(wanted, 4 * kDwords, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (const uint32_t first : {0u,   100u, 236u, 237u,  238u,  270u,  299u,  300u,  500u,        ~0u,
                               ~30u, ~62u, ~63u, ~200u, ~299u, ~300u, ~330u, ~500u, 0x7fffffdfu, 0x80000000u})
    for (const uint64_t lanes : {~uint64_t{0}, uint64_t{0xfff0'8000'0101'7ff0}, uint64_t{0}}) {
      auto* const dwords = static_cast<uint32_t*>(memory);
      const Outcome interpreted = run_by_halves(dwords, kDwords, kMiddle, first, lanes, false);
      const Outcome compiled = run_by_halves(dwords, kDwords, kMiddle, first, lanes, true);
      EXPECT_EQ(interpreted.exit, Exit::ended);
      EXPECT_EQ(interpreted.exit, compiled.exit);
      EXPECT_EQ(interpreted.registers, compiled.registers) << first << " " << std::hex << lanes;
      EXPECT_EQ(interpreted.stored, compiled.stored) << first << " " << std::hex << lanes;
    }
  munmap(memory, 4 * kDwords);
}

}  // namespace
}  // namespace morgana::device
