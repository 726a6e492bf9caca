// What the unofficial errata of AMD's ISA documents (Mesa's ACO) say of RDNA, each by its heading there. What
// cannot show here is in docs/isa-decisions.md. Encodings by llvm-mc 22.
#include <gtest/gtest.h>

#include "device/isa/decode.h"
#include "device/testing/memory_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kInfinity = 0x7f80'0000;

struct Rig : MemoryRig {
  Rig(Target target, std::string_view hex) : MemoryRig(target, hex) { set64(2, base()); }
};

TEST(RdnaErrata, SBfeWritesScc) {
  const struct {
    Target target;
    const char* hex;
  } cases[] = {{Target::gfx1010, "01ff809304000400"},   // s_bfe_u32 s0, s1, 0x40004
               {Target::gfx1200, "01ff009304000400"},   // s_bfe_u32 s0, s1, 0x40004
               {Target::gfx1010, "04ff029504000400"},   // s_bfe_i64 s[2:3], s[4:5], 0x40004
               {Target::gfx1200, "04ff829404000400"}};  // s_bfe_i64 s[2:3], s[4:5], 0x40004
  for (const auto& c : cases)
    for (const uint32_t value : {0x50u, 0xf0fu}) {
      WaveRig rig(c.target, dwords_of_hex(c.hex));
      rig.s(1) = rig.s(4) = value;
      rig.s(5) = 0;
      rig.wave().scc = value == 0xf0f;
      ASSERT_EQ(rig.run(), Exit::ended);
      EXPECT_EQ(rig.wave().scc, value == 0x50) << info(c.target).name;
    }
}

// v_sad_u32: the unsigned distance. v_bcnt_u32_b32: adds its second operand. v_alignbyte_b32: two bits count.
TEST(RdnaErrata, VSadU32VBcntU32B32AndVAlignbyteB32) {
  const char* const gfx10 =
      "00005dd501050e04"   // v_sad_u32 v0, v1, v2, v3
      "050064d701050200"   // v_bcnt_u32_b32 v5, v1, v2
      "06004fd501050e04";  // v_alignbyte_b32 v6, v1, v2, v3
  const char* const gfx12 =
      "000025d601050e04"   // v_sad_u32 v0, v1, v2, v3
      "05001ed701050200"   // v_bcnt_u32_b32 v5, v1, v2
      "060017d601050e04";  // v_alignbyte_b32 v6, v1, v2, v3
  for (const auto& [target, hex] :
       {std::pair{Target::gfx1010, gfx10}, {Target::gfx1030, gfx10}, {Target::gfx1200, gfx12}}) {
    WaveRig rig(target, dwords_of_hex(hex));
    rig.v(1, 0) = uint32_t(-5), rig.v(2, 0) = 0, rig.v(3, 0) = 7;
    rig.v(1, 1) = 0xf, rig.v(2, 1) = 0x1122'3344, rig.v(3, 1) = 7;
    ASSERT_EQ(rig.run(), Exit::ended);
    EXPECT_EQ(rig.v(0, 0), 4294967291u + 7) << info(target).name;
    EXPECT_EQ(rig.v(5, 1), 4u + 0x1122'3344u);
    EXPECT_EQ(rig.v(6, 1), 0x0000'0f11u) << "by three bytes, not seven";
  }
}

// SMEM stores, SMEM atomics, s_dcache_wb: gfx10.1 has them.
TEST(RdnaErrata, SmemStoresAndAtomicsAndSDcacheWb) {
  Rig rig(Target::gfx1010,
          "410040f4080000f8"    // s_store_dword s1, s[2:3], m0 offset:0x8
          "010109f6040000fa"    // s_atomic_add s4, s[2:3], 0x4 glc
          "000084f400000000");  // s_dcache_wb
  rig.s(1) = 77, rig.s(4) = 5;
  rig.wave().m0() = 16;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.memory[6], 77u) << "M0 and the offset";
  EXPECT_EQ(rig.memory[1], 0x1006u);
  EXPECT_EQ(rig.s(4), 0x1001u);
  Rig later(Target::gfx1030, "010040f4000000f8");
  EXPECT_EQ(later.run(), Exit::fault);
  EXPECT_EQ(later.fault().kind, FaultKind::illegal_instruction);
}

TEST(RdnaErrata, Vop1InstructionsEncodedAsVop3Begin0x180Behind) {
  for (const Target target : {Target::gfx1010, Target::gfx1030, Target::gfx1100, Target::gfx1200}) {
    const std::vector<uint32_t> code = {0xd500'0000u | (0x180 + 42) << 16, 0x2000'0101u};
    const Result<isa::Inst> inst = isa::decode(target, Bytes(code.data(), 8));
    ASSERT_TRUE(inst.ok());
    EXPECT_EQ(isa::disassemble(target, *inst), "v_rcp_f32_e64 v0, -v1");
  }
}

// FLAT, scratch, global: SADDR is NULL where an address is whole, and there is no NV bit.
TEST(RdnaErrata, FlatScratchGlobalInstructions) {
  Rig rig(Target::gfx1010, "009031dc00007d02");  // global_load_dword v2, v[0:1], off glc dlc
  for (int l = 0; l < 32; l++) {
    const uint64_t at = rig.base() + 4 * uint64_t(l);
    rig.v(0, l) = uint32_t(at), rig.v(1, l) = uint32_t(at >> 32);
  }
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(2, 9), 0x1009u);
  // The bit that was NV makes nothing else of it.
  const std::vector<uint32_t> code = {0xdc30'8000u, 0x0282'0000u};
  const Result<isa::Inst> inst = isa::decode(Target::gfx1010, Bytes(code.data(), 8));
  EXPECT_TRUE(!inst.ok() || !inst->nv);
}

TEST(RdnaErrata, LegacyInstructionsLetZeroWin) {
  for (const Target target : {Target::gfx1010, Target::gfx1030, Target::gfx1100, Target::gfx1200}) {
    WaveRig rig(target, dwords_of_hex("0105000e"));  // v_mul_legacy_f32_e32 v0, v1, v2
    rig.v(1, 0) = 0, rig.v(2, 0) = kInfinity;
    rig.v(1, 1) = kInfinity, rig.v(2, 1) = 0x8000'0000;
    rig.v(0, 0) = rig.v(0, 1) = 7;
    ASSERT_EQ(rig.run(), Exit::ended);
    EXPECT_EQ(rig.v(0, 0), 0u) << info(target).name;
    EXPECT_EQ(rig.v(0, 1), 0u);
  }
}

// `m0` with LDS instructions: only the _addtid ones read it.
TEST(RdnaErrata, M0WithLdsInstructions) {
  for (const Target target : {Target::gfx1010, Target::gfx1030, Target::gfx1100}) {
    Rig rig(target,
            "0400d8d801000000"    // ds_read_b32 v0, v1 offset:4
            "0400c4da00000002");  // ds_read_addtid_b32 v2 offset:4
    auto* const lds = reinterpret_cast<uint32_t*>(rig.group().lds);
    for (uint32_t i = 0; i < 64; i++) lds[i] = i;
    for (int l = 0; l < 32; l++) rig.v(1, l) = 4 * uint32_t(l);
    rig.wave().m0() = 8;  // as a clamp it would leave two dwords
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(0, 20), 21u) << info(target).name;
    EXPECT_EQ(rig.v(2, 20), 2 + 1 + 20u);
  }
}

}  // namespace
}  // namespace morgana::device
