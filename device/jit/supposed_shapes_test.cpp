// Loads and stores at indices that were clamped or chosen: with and without an effect on some lane, with sums
// that wrap, around a loop, under a partial EXEC. Compiled code leaves the interpreter's registers and
// memory.
#include <gtest/gtest.h>

#include <cstring>

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
  for (int r = 1; r < 32; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 1000 + lane);
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  EXPECT_TRUE(!compiled || rig.kernel() != nullptr);
  for (int r = 0; r < 32; r++)
    if (r != 6 && r != 7)  // addresses
      for (int lane = 0; lane < kLanes; lane++) outcome.registers.push_back(rig.v(r, lane));
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

}  // namespace
}  // namespace morgana::device
