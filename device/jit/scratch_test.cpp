// Private memory in compiled code: rows, lanes' own offsets, and what must be left to the interpreter.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// What a tier leaves behind: how the wave ended, scratch, and registers. Register r begins with 1000 r +
// lane.
template <class Prepare>
std::vector<uint32_t> left(WaveRig& rig, bool compiled, const Prepare& prepare) {
  constexpr int kVgprs = 12;
  rig.restart();
  auto* const scratch = reinterpret_cast<uint32_t*>(rig.wave().scratch);
  const size_t dwords = size_t{rig.wave().scratch_lane_bytes} / 4 * kLanes;
  for (size_t i = 0; i < dwords; i++) scratch[i] = static_cast<uint32_t>(i);
  for (int r = 0; r < kVgprs; r++)
    for (int lane = 0; lane < kLanes; lane++)
      rig.v(r, lane) = 1000u * static_cast<uint32_t>(r) + static_cast<uint32_t>(lane);
  prepare();
  std::vector<uint32_t> result{static_cast<uint32_t>(compiled ? rig.run_compiled() : rig.run_interpreted()),
                               static_cast<uint32_t>(rig.fault().kind)};
  if (compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  result.insert(result.end(), scratch, scratch + dwords);
  for (int r = 0; r < kVgprs; r++)
    for (int lane = 0; lane < kLanes; lane++) result.push_back(rig.v(r, lane));
  return result;
}

RigOptions with_scratch(uint32_t bytes) {
  RigOptions options;
  options.private_bytes = bytes;
  return options;
}

// One comparison stands for all accesses at s3: inside, across the end, misaligned, beyond it, below it.
//   scratch_store_dword off, v1, s3 offset:8
//   v_add_u32 v1, 1, v1
//   scratch_store_dword off, v1, s3 offset:60
//   scratch_load_dword v2, off, s3 offset:8
//   s_mov_b32 s3, 4
//   scratch_load_dwordx2 v[4:5], off, s3 offset:4
//   s_waitcnt vmcnt(0)
TEST(Scratch, AtOneRegister) {
  RigOptions options = with_scratch(64);
  for (const bool is_full : {false, true}) {
    options.begins_full = is_full;
    WaveRig rig(Target::gfx950,
                dwords_of_hex("084070dc00010300 81020268 3c4070dc00010300 084050dc00000302 840083be"
                              "044054dc00000304 700f8cbf"),
                options);
    for (const uint32_t base : {0u, 4u, 2u, 4096u, ~3u}) {
      const auto prepare = [&] {
        rig.s(3) = base;
        if (!is_full) return;
        for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = static_cast<uint32_t>(lane);
      };
      EXPECT_EQ(left(rig, false, prepare), left(rig, true, prepare)) << is_full << " " << base;
    }
  }
}

// Each lane at an offset of its own: all inside, one of them across the end or at no whole dword, active or
// not.
TEST(Scratch, AtTheLanesOwn) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("046074dc00027f00"  // scratch_store_dwordx2 v0, v[2:3], off offset:4
                            "086050dc01007f04"  // scratch_load_dword v4, v1, off offset:8
                            "006058dc01000308"  // scratch_load_dwordx3 v[8:10], v1, s3
                            "700f8cbf"),        // s_waitcnt vmcnt(0)
              with_scratch(64));
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff00'1234'5678'9abf}, uint64_t{0}})
    for (const uint32_t wild : {0u, 56u, 2u, ~3u, 1u << 31}) {
      const auto prepare = [&] {
        rig.wave().set_exec(exec);
        rig.s(3) = 12;
        for (int lane = 0; lane < kLanes; lane++) {
          const auto l = static_cast<uint32_t>(lane);
          rig.v(0, lane) = l % 13 * 4, rig.v(1, lane) = l * 7 % 11 * 4;
        }
        rig.v(0, 40) = rig.v(1, 18) = wild;
      };
      EXPECT_EQ(left(rig, false, prepare), left(rig, true, prepare)) << exec << " " << wild;
    }
}

// By the resource of private memory in s[0:3], or moved to s[8:11] at the beginning; the last store by s[0:3]
// all the same, as functions do.
std::vector<uint32_t> by_buffer(bool is_moved) {
  std::vector<uint32_t> code = dwords_of_hex(
      "080070e000010004"  // buffer_store_dword v1, off, s[0:3], s4 offset:8
      "8102022a"          // v_xor_b32_e32 v1, 1, v1
      "041074e000020004"  // buffer_store_dwordx2 v[2:3], v0, s[0:3], s4 offen offset:4
      "080050e000040004"  // buffer_load_dword v4, off, s[0:3], s4 offset:8
      "ff0084be00010000"  // s_mov_b32 s4, 0x100
      "040054e000060004"  // buffer_load_dwordx2 v[6:7], off, s[0:3], s4 offset:4
      "0c1050e008090080"  // buffer_load_dword v9, v8, s[0:3], 0 offen offset:12
      "00050080"          // s_add_u32 s0, s0, s5
      "100070e000010080"  // buffer_store_dword v1, off, s[0:3], 0 offset:16
      "700f8cbf");        // s_waitcnt vmcnt(0)
  if (!is_moved) return code;
  for (size_t k = 0; k < code.size(); k++)
    if (code[k] == 0x80000500)
      code[k] = 0x80080508;  // s_add_u32 s8, s8, s5
    else if (code[k] >> 26 == 0x38)
      code[++k] |= 2 << 16;  // MUBUF's resource
  code.insert(code.begin(),
              {0xbe8a0102, 0xbe880100});  // s_mov_b64 s[10:11], s[2:3]; s_mov_b64 s[8:9], s[0:1]
  return code;
}

// It as it begins, without its swizzle, with another stride of indices, and at places that are no row. s4
// counts bytes of the whole wave.
TEST(Scratch, ByItsBuffer) {
  RigOptions options = with_scratch(64);
  options.private_buffer = true;
  for (const auto& [target, is_moved] : {std::pair{Target::gfx803, false},
                                         {Target::gfx803, true},
                                         {Target::gfx90a, false},
                                         {Target::gfx90a, true}}) {
    WaveRig rig(target, by_buffer(is_moved), options);
    struct Case {
      uint32_t s4, s5, swizzle, index_stride, wild;
    };
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff00'1234'5678'9abf}})
      for (const Case& c : {Case{0, 256, 1, 3, 0}, Case{256, 1024, 1, 3, 8}, Case{512, 4, 1, 3, 2},
                            Case{1024, 0, 1, 3, ~3u - 12}, Case{128, 512, 1, 3, 0}, Case{0, 256, 0, 3, 0},
                            Case{0, 0, 1, 2, 4}}) {
        const auto prepare = [&] {
          rig.wave().set_exec(exec);
          rig.s(4) = c.s4, rig.s(5) = c.s5;
          EXPECT_EQ(rig.s(3) >> 21 & 7, 7u);  // ADD_TID, INDEX_STRIDE 64
          rig.s(1) = (rig.s(1) & 0x7fff'ffff) | c.swizzle << 31;
          rig.s(3) = (rig.s(3) & ~(3u << 21)) | c.index_stride << 21;
          for (int lane = 0; lane < kLanes; lane++) {
            rig.v(0, lane) = static_cast<uint32_t>(lane) % 7 * 4;
            rig.v(8, lane) = 16;
          }
          rig.v(0, 40) = c.wild;
        };
        std::vector<uint32_t> interpreted = left(rig, false, prepare), compiled = left(rig, true, prepare);
        // After a fault nobody looks at registers.
        if (interpreted[0] != static_cast<uint32_t>(Exit::ended)) interpreted.resize(2), compiled.resize(2);
        EXPECT_EQ(interpreted, compiled) << info(target).name << " " << is_moved << " " << exec << " " << c.s4
                                         << " " << c.s5 << " " << c.swizzle;
        EXPECT_EQ(rig.kernel()->shares().by_handlers, 0u);
      }
  }
}

// Bytes and shorts, at an offset of all lanes and at the lanes' own: at whole elements or not, across the end
// and beyond it.
TEST(Scratch, PartsOfDwords) {
  RigOptions options = with_scratch(64);
  options.private_buffer = true;
  const std::vector<uint32_t> by_scratch = dwords_of_hex(
      "094060dc00010300"  // scratch_store_byte off, v1, s3 offset:9
      "0e4068dc00020300"  // scratch_store_short off, v2, s3 offset:14
      "056060dc00037f00"  // scratch_store_byte v0, v3, off offset:5
      "026068dc08047f00"  // scratch_store_short v8, v4, off offset:2
      "094040dc00000305"  // scratch_load_ubyte v5, off, s3 offset:9
      "0a4044dc00000306"  // scratch_load_sbyte v6, off, s3 offset:10
      "026048dc08007f07"  // scratch_load_ushort v7, v8, off offset:2
      "06604cdc08007f09"  // scratch_load_sshort v9, v8, off offset:6
      "056044dc00007f0a"  // scratch_load_sbyte v10, v0, off offset:5
      "700f8cbf");        // s_waitcnt vmcnt(0)
  const auto by_buffer = [](const std::string& ubyte, const std::string& sbyte, const std::string& ushort,
                            const std::string& sshort, const std::string& wait) {
    return dwords_of_hex(
        "090060e000010004"  // buffer_store_byte v1, off, s[0:3], s4 offset:9
        "0e0068e000020004"  // buffer_store_short v2, off, s[0:3], s4 offset:14
        "051060e000030004"  // buffer_store_byte v3, v0, s[0:3], s4 offen offset:5
        "021068e008040080"  // buffer_store_short v4, v8, s[0:3], 0 offen offset:2
        "0900" +
        ubyte +
        "e000050004"  // buffer_load_ubyte v5, off, s[0:3], s4 offset:9
        "0a00" +
        sbyte +
        "e000060004"  // buffer_load_sbyte v6, off, s[0:3], s4 offset:10
        "0210" +
        ushort +
        "e008070080"  // buffer_load_ushort v7, v8, s[0:3], 0 offen offset:2
        "0610" +
        sshort +
        "e008090004"  // buffer_load_sshort v9, v8, s[0:3], s4 offen offset:6
        "0510" +
        sbyte + "e0000a0080" +  // buffer_load_sbyte v10, v0, s[0:3], 0 offen offset:5
        wait);
  };
  const std::vector<uint32_t> older = by_buffer("40", "44", "48", "4c", "700f8cbf"),
                              newer = by_buffer("20", "24", "28", "2c", "703f8cbf");
  for (const auto& [target, code] : {std::pair{Target::gfx950, by_scratch},
                                     {Target::gfx803, older},
                                     {Target::gfx90a, older},
                                     {Target::gfx1030, newer}}) {
    WaveRig rig(target, code, options);
    struct Case {
      uint32_t base, wild_byte, wild_short;
      bool is_same;
    };
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff00'1234'5678'9abf}, uint64_t{0}})
      for (const Case& c :
           {Case{0, 3, 6, false}, Case{0, 9, 12, true}, Case{2, 3, 6, false}, Case{3, 3, 6, false},
            Case{40, 3, 6, true}, Case{49, 3, 6, false}, Case{~0u, 3, 6, false}, Case{0, 59, 6, false},
            Case{0, ~0u, 6, true}, Case{4, 3, 3, false}, Case{0, 3, 60, true}, Case{0, 1u << 31, 6, false}}) {
        const auto prepare = [&] {
          rig.wave().set_exec(exec);
          rig.s(target == Target::gfx950 ? 3 : 4) =
              target == Target::gfx950 ? c.base : c.base * rig.wave().lane_count();
          for (int lane = 0; lane < kLanes; lane++) {
            const auto l = static_cast<uint32_t>(lane);
            rig.v(0, lane) = c.is_same ? c.wild_byte : l * 7 % 47;
            rig.v(8, lane) = c.is_same ? c.wild_short : l * 5 % 23 * 2;
          }
          rig.v(0, 18) = c.wild_byte, rig.v(8, 21) = c.wild_short;
        };
        std::vector<uint32_t> interpreted = left(rig, false, prepare), compiled = left(rig, true, prepare);
        if (interpreted[0] != static_cast<uint32_t>(Exit::ended)) interpreted.resize(2), compiled.resize(2);
        EXPECT_EQ(interpreted, compiled) << info(target).name << " " << exec << " " << c.base << " "
                                         << c.wild_byte << " " << c.wild_short << " " << c.is_same;
      }
  }
}

// What lies behind scratch is the process's.
TEST(Scratch, NobodyLeavesItByItsBuffer) {
  RigOptions options = with_scratch(64);
  options.private_buffer = true;
  for (const Target target : {Target::gfx803, Target::gfx90a, Target::gfx1030})
    for (const uint32_t offset : {64u, 100'000u, ~0u}) {
      WaveRig rig(target, dwords_of_hex("001060e000010080"),
                  options);  // buffer_store_byte v1, v0, s[0:3], 0 offen
      const auto prepare = [&] {
        for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = lane == 5 ? offset : 4;
      };
      for (const bool is_compiled : {false, true}) {
        left(rig, is_compiled, prepare);
        EXPECT_EQ(rig.fault().kind, FaultKind::aperture) << info(target).name << " " << offset;
        EXPECT_TRUE(rig.fault().is_write);
      }
    }
}

}  // namespace
}  // namespace morgana::device
