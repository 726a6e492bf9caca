// Loops over 64-bit indices that rise from lane to lane: they begin before, at and beyond multiples of 2^32,
// wrap at 2^64 and 2^63, end with a wave, within one, or at once. Compiled code leaves the interpreter's
// registers and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

struct Code {
  Target target;
  std::string_view dwords;
};

// The index is s[6:7] + lane; for gfx950, and with v_add_co_u32 and v_addc_co_u32 for gfx90a:
//         v_mov_b32 v1, 0
//         v_lshl_add_u64 v[0:1], v[0:1], 0, s[6:7]
//         v_cmp_gt_u64 vcc, s[18:19], v[0:1]         (or _i64)
//         s_and_saveexec_b64 s[2:3], vcc
//         s_cbranch_execz end
//         v_lshlrev_b64 v[2:3], 3, v[0:1]
//         s_mov_b64 s[20:21], 0
//   loop: v_lshl_add_u64 v[4:5], v[2:3], 0, s[10:11]
//         global_load_dwordx2 v[8:9], v[4:5], off
//         v_lshl_add_u64 v[6:7], v[2:3], 0, s[12:13]
//         v_lshl_add_u64 v[0:1], v[0:1], 0, s[14:15]
//         v_lshl_add_u64 v[2:3], v[2:3], 0, s[16:17]
//         v_cmp_le_u64 vcc, s[18:19], v[0:1]         (or _i64)
//         s_or_b64 s[20:21], vcc, s[20:21]
//         s_waitcnt vmcnt(0)
//         global_store_dwordx2 v[6:7], v[8:9], off
//         s_andn2_b64 exec, exec, s[20:21]
//         s_cbranch_execnz loop
//   end:  s_mov_b64 exec, -1
constexpr Code kUnsigned[] = {{Target::gfx950,
                               "8002027e000008d2000119001200d87d6a2082be140088bf02008fd283000200800194be04000"
                               "8d202012900008054dc04007f08"
                               "060008d202013100000008d200013900020008d2020141001200d67d6a149487700f8cbf00807"
                               "4dc06087f007e14fe89efff89bf"
                               "c101febe"},
                              {Target::gfx90a,
                               "0702027e06000032800202381200d87d6a2082be1c0088bf02008fd283000200800194be0b020"
                               "a7e0a04083205070a38008054dc"
                               "04007f080d020e7e060019d10c04020007001cd1070702000f02147e1102167e0e00003202001"
                               "9d1100402000115023803001cd1"
                               "031702001200d67d6a149487700f8cbf008074dc06087f007e14fe89e7ff89bfc101febe"}};
constexpr Code kSigned[] = {{Target::gfx950,
                             "8002027e000008d2000119001200c87d6a2082be140088bf02008fd283000200800194be040008d"
                             "202012900008054dc04007f08"
                             "060008d202013100000008d200013900020008d2020141001200c67d6a149487700f8cbf008074d"
                             "c06087f007e14fe89efff89bf"
                             "c101febe"},
                            {Target::gfx90a,
                             "0702027e06000032800202381200c87d6a2082be1c0088bf02008fd283000200800194be0b020a7"
                             "e0a04083205070a38008054dc"
                             "04007f080d020e7e060019d10c04020007001cd1070702000f02147e1102167e0e000032020019d"
                             "1100402000115023803001cd1"
                             "031702001200c67d6a149487700f8cbf008074dc06087f007e14fe89e7ff89bfc101febe"}};

constexpr uint32_t kElements = 1024;

struct Outcome {
  Exit exit;
  std::vector<uint32_t> registers;
  std::vector<uint64_t> stored;
};

RigOptions options() {
  RigOptions options;
  options.vgprs = 16;
  options.begins_full = true;
  return options;
}

Outcome run(WaveRig& rig, uint64_t first, uint64_t end, uint64_t step, bool compiled) {
  rig.restart();
  static uint64_t from[kElements], to[kElements];
  for (uint32_t i = 0; i < kElements; i++) from[i] = i * 0x9e3779b97f4a7c15u, to[i] = 0;
  const auto put = [&](int s, uint64_t value) { std::memcpy(&rig.s(s), &value, 8); };
  put(6, first), put(18, end), put(14, step), put(16, 8 * step);
  put(10, reinterpret_cast<uint64_t>(from) - 8 * first);
  put(12, reinterpret_cast<uint64_t>(to) - 8 * first);
  for (int r = 1; r < 16; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 1000 + lane);
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  EXPECT_TRUE(!compiled || rig.kernel() != nullptr) << rig.why_interpreted();
  for (int r = 0; r < 16; r++)
    for (int lane = 0; lane < kLanes; lane++) outcome.registers.push_back(rig.v(r, lane));
  outcome.stored.assign(to, to + kElements);
  return outcome;
}

class Loops {
 public:
  explicit Loops(const Code& code)
      : target_(code.target), rig_(code.target, dwords_of_hex(code.dwords), options()) {}

  void compare(uint64_t first, uint64_t end, uint64_t step) {
    SCOPED_TRACE(testing::Message() << info(target_).name << std::hex << " from " << first << " to " << end
                                    << " by " << step);
    const Outcome interpreted = run(rig_, first, end, step, false);
    const Outcome compiled = run(rig_, first, end, step, true);
    EXPECT_EQ(interpreted.exit, Exit::ended);
    EXPECT_EQ(compiled.exit, Exit::ended);
    EXPECT_EQ(interpreted.registers, compiled.registers);
    EXPECT_EQ(interpreted.stored, compiled.stored);
  }

 private:
  const Target target_;
  WaveRig rig_;
};

TEST(RisingLoops, MoveWhatTheInterpreterMoves) {
  constexpr uint64_t k32 = uint64_t{1} << 32;
  for (const Code& code : kUnsigned) {
    Loops loops(code);
    for (const uint64_t first :
         {uint64_t{0}, uint64_t{5}, k32 - 200, k32 - 64, k32 - 63, k32 - 1, k32 / 8 - 40, 3 * k32 - 100,
          (uint64_t{1} << 61) - 30, ~uint64_t{0} - 2000, uint64_t{1} << 63})
      for (const uint64_t count : {0, 1, 63, 64, 65, 128, 700})
        for (const uint64_t step : {64, 70}) loops.compare(first, first + count, step);
  }
  for (const Code& code : kSigned) {
    Loops loops(code);
    for (const int64_t first : {int64_t{-500}, int64_t{-64}, int64_t{-1}, INT64_MAX - 2000})
      for (const int64_t count : {0, 40, 128, 400})
        loops.compare(static_cast<uint64_t>(first), static_cast<uint64_t>(first + count), 64);
  }
}

TEST(RisingLoops, WrapWithinTheWave) {
  // The lanes behind the wrap are the smallest, and those that go on.
  for (const Code& code : kUnsigned) {
    Loops loops(code);
    for (const uint64_t first : {~uint64_t{0}, ~uint64_t{0} - 30})
      for (const uint64_t end : {0, 10, 62, 100}) loops.compare(first, end, 64);
  }
  for (const Code& code : kSigned) {
    Loops loops(code);
    for (const int64_t first : {INT64_MAX, INT64_MAX - 20})
      loops.compare(static_cast<uint64_t>(first), static_cast<uint64_t>(INT64_MIN + 5), 64);
  }
}

// In some lanes one of two summands has wrapped and the other has not: neither the first nor the last tells.
TEST(RisingLoops, SumsOfTwoThatWrap) {
  // v_mov_b32 v3, 0
  // v_mov_b32 v5, 0
  // v_lshlrev_b32 v2, 1, v0
  // v_add_u32 v2, s6, v2
  // v_sub_u32 v4, s7, v0
  // v_lshl_add_u64 v[6:7], v[2:3], 0, v[4:5]        (or v_mad_u64_u32 v[6:7], vcc, v2, 1, v[4:5])
  // v_cmp_gt_u64 vcc, s[18:19], v[6:7]
  // v_cndmask_b32 v8, 0, 1, vcc
  constexpr Code kSums[] = {
      {Target::gfx950, "8002067e80020a7e81000424060404680700086a060008d202011104120cd87d080000d18002a901"},
      {Target::gfx950, "8002067e80020a7e81000424060404680700086a066ae8d102031104120cd87d080000d18002a901"},
      {Target::gfx90a, "8002067e80020a7e81000424060404680700086a066ae8d102031104120cd87d080000d18002a901"}};
  for (const Code& code : kSums) {
    WaveRig rig(code.target, dwords_of_hex(code.dwords), options());
    rig.s(6) = 0xffffffec, rig.s(7) = 20, rig.s(18) = 100, rig.s(19) = 0;
    EXPECT_EQ(rig.run_compiled(), Exit::ended);
    for (uint32_t lane = 0; lane < kLanes; lane++)
      EXPECT_EQ(rig.v(8, static_cast<int>(lane)), lane >= 10 && lane <= 20 ? 1u : 0u) << lane;
  }
}

// Shifts by 32 and more leave nothing of the lower half.
TEST(RisingLoops, AreNotWhatIsShiftedOut) {
  // v_mov_b32 v1, 0
  // v_lshlrev_b64 v[2:3], 32, v[0:1]
  // v_lshlrev_b32 v4, 2, v2
  // global_load_dword v5, v4, s[10:11]
  // v_lshlrev_b32 v6, 2, v3
  // global_load_dword v7, v6, s[10:11]
  // s_waitcnt vmcnt(0)
  RigOptions options;
  options.vgprs = 16;
  options.begins_full = true;
  WaveRig rig(
      Target::gfx950,
      dwords_of_hex("8002027e02008fd2a000020082040824008050dc04000a0582060c24008050dc06000a07700f8cbf"),
      options);
  uint32_t from[kLanes];
  for (uint32_t i = 0; i < kLanes; i++) from[i] = 100 + i;
  const auto address = reinterpret_cast<uint64_t>(from);
  std::memcpy(&rig.s(10), &address, 8);
  EXPECT_EQ(rig.run_compiled(), Exit::ended);
  for (int lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(rig.v(5, lane), 100u);
    EXPECT_EQ(rig.v(7, lane), 100u + static_cast<uint32_t>(lane));
  }
}

// The lower half is the same in all lanes, the upper one is not.
TEST(RisingLoops, AreNotAlikeInTheUpperHalf) {
  // v_mov_b32 v3, 0
  // v_lshlrev_b32 v2, 1, v0
  // v_add_u32 v2, s6, v2
  // v_lshlrev_b64 v[6:7], 31, v[2:3]
  // v_lshlrev_b32 v4, 2, v7
  // global_load_dword v5, v4, s[10:11]
  // s_waitcnt vmcnt(0)
  WaveRig rig(Target::gfx950,
              dwords_of_hex("8002067e810004240604046806008fd29f040200820e0824008050dc04000a05700f8cbf"),
              options());
  uint32_t from[kLanes + 2];
  for (uint32_t i = 0; i < kLanes + 2; i++) from[i] = 100 + i;
  const auto address = reinterpret_cast<uint64_t>(from);
  std::memcpy(&rig.s(10), &address, 8);
  rig.s(6) = 4;
  EXPECT_EQ(rig.run_compiled(), Exit::ended);
  for (int lane = 0; lane < kLanes; lane++) EXPECT_EQ(rig.v(5, lane), 102u + static_cast<uint32_t>(lane));
}

}  // namespace
}  // namespace morgana::device
