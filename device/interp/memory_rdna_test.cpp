// Memory instructions as gfx10 and later have them: buffer resources, scratch of waves of 32, what only they
// have. Encodings by llvm-mc 22.
#include <gtest/gtest.h>

#include "device/testing/memory_rig.h"

namespace morgana::device {
namespace {

struct Rig : MemoryRig {
  Rig(Target target, std::string_view hex) : MemoryRig(target, hex) { set64(2, base()); }
  void resource(uint32_t stride, uint32_t records, uint32_t word3, uint32_t swizzle = 0) {
    set64(4, base() | uint64_t{stride} << 48 | uint64_t{swizzle} << 62);
    s(6) = records, s(7) = word3;
  }
  void ramp(int n, uint32_t step) {
    for (int l = 0; l < 32; l++) v(n, l) = uint32_t(l) * step;
  }
};

// Word 3 with RESOURCE_LEVEL (gfx10), a format and an OOB_SELECT.
constexpr uint32_t word3(uint32_t format, uint32_t out_of_bounds) {
  return 0xfac | format << 12 | 1u << 24 | out_of_bounds << 28;
}
constexpr uint32_t kUint32 = 20, kStructured = 0, kByIndex = 1, kUnchecked = 2, kRaw = 3;

TEST(RdnaBuffer, TheResourceSaysWhatIsOutOfBounds) {
  struct {
    uint32_t select, stride, records;
    uint32_t inside;  // lanes at offset 4 * l
  } cases[] = {{kRaw, 0, 40, 10},       {kByIndex, 0, 1, 32},   {kByIndex, 0, 0, 0},
               {kStructured, 24, 1, 6}, {kUnchecked, 0, 1, 32}, {kUnchecked, 0, 0, 0}};
  for (const auto& c : cases) {
    Rig rig(Target::gfx1030, "001030e000020180");  // buffer_load_dword v2, v0, s[4:7], 0 offen
    rig.resource(c.stride, c.records, word3(kUint32, c.select));
    rig.ramp(0, 4);
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (uint32_t l = 0; l < 32; l++)
      EXPECT_EQ(rig.v(2, int(l)), l < c.inside ? 0x1000 + l : 0) << c.select << ' ' << c.records << ' ' << l;
    EXPECT_EQ(rig.v(2, 32), 0xdead0002u);
  }
}

TEST(RdnaBuffer, AnIndexIsComparedWithTheRecords) {
  Rig rig(Target::gfx1030, "002030e000020180");  // buffer_load_dword v2, v0, s[4:7], 0 idxen
  rig.resource(8, 5, word3(kUint32, kByIndex));
  rig.ramp(0, 1);
  ASSERT_EQ(rig.run(), Exit::ended);
  for (uint32_t l = 0; l < 32; l++) EXPECT_EQ(rig.v(2, int(l)), l < 5 ? 0x1000 + 2 * l : 0);
}

TEST(RdnaBuffer, FormatsAreOneNumberThatGfx11CountsAnew) {
  struct {
    Target target;
    const char* hex;
    uint32_t format, first;
  } cases[] = {
      {Target::gfx1030, "002000e000020180", 11, 0x1000},     // buffer_load_format_x: 16_UINT
      {Target::gfx1100, "000000e000028180", 11, 0x1000},     // the same
      {Target::gfx1030, "002000e000020180", 62, 0x1000},     // 32_32_UINT
      {Target::gfx1100, "000000e000028180", 48, 0x1000},     // the same
      {Target::gfx1030, "002040e800020180", 1, 0x3e000100},  // MTBUF, 16_SNORM: 0x1000 / 32767
      {Target::gfx1100, "000048e900028180", 1, 0xfffffe00},  // 2_10_10_10_SINT: x has ten bits
  };
  for (const auto& c : cases) {
    Rig rig(c.target, c.hex);
    rig.resource(4, 32, word3(c.format, kByIndex) & (c.target == Target::gfx1100 ? ~(1u << 24) : ~0u));
    rig.memory[0] = c.target == Target::gfx1100 && c.format == 1 ? 0x200 : 0x1000;
    rig.ramp(0, 1);
    ASSERT_EQ(rig.run(), Exit::ended) << c.hex << ' ' << rig.fault().detail;
    EXPECT_EQ(rig.v(2, 0), c.first) << c.hex;
  }
}

TEST(RdnaBuffer, Gfx12HasALongerOffsetAndNull) {
  // buffer_load_b32 v2, v0, s[4:7], null offen offset:4; tbuffer_load_format_xy v[2:3], 8_8_UINT idxen
  Rig rig(Target::gfx1200, "7c0005c402088040 00040000");
  rig.resource(0, 4096, word3(kUint32, kRaw));
  rig.ramp(0, 8);
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(2, 3), 0x1007u);
  Rig typed(Target::gfx1200, "7c4020c402080089 00000000");
  typed.resource(4, 32, word3(kUint32, kByIndex));
  typed.ramp(0, 1);
  ASSERT_EQ(typed.run(), Exit::ended) << typed.fault().detail;
  EXPECT_EQ(typed.v(2, 5), 0x05u);
  EXPECT_EQ(typed.v(3, 5), 0x10u);
}

// The scratch of a wave of 32 has rows of 32 dwords; buffers and SCRATCH meet the same bytes.
TEST(RdnaScratch, BuffersAndScratchMeet) {
  // buffer_store_dword v1, v0, s[0:3], 0 offen offset:4; scratch_load_dword v2, v0, off offset:4;
  // scratch_load_dword v3, off, off offset:8
  MemoryRig rig(Target::gfx1030, "041070e000010080 044030dc00007d02 084030dc00007f03",
                {.private_bytes = 64, .private_buffer = true});
  for (int l = 0; l < 32; l++) rig.v(0, l) = l % 2 ? 4 : 0, rig.v(1, l) = uint32_t(l) + 100;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (int l = 0; l < 32; l++) {
    EXPECT_EQ(rig.v(2, l), uint32_t(l) + 100);
    if (l % 2) EXPECT_EQ(rig.v(3, l), uint32_t(l) + 100);
  }
}

TEST(RdnaScratch, LanesAndScalarsAddUp) {
  // scratch_store_b32 v0, v1, s1 offset:4; scratch_load_b32 v2, v0, s1 offset:4
  Rig rig(Target::gfx1100, "040069dc00018100 040051dc00008102");
  rig.s(1) = 8;
  rig.ramp(0, 1), rig.ramp(1, 3);
  for (int l = 0; l < 32; l++) rig.v(0, l) = 4 * (uint32_t(l) & 3);
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (int l = 0; l < 32; l++) EXPECT_EQ(rig.v(2, l), 3 * uint32_t(l));
  // scratch_store_b32 v0, v1, s1 offset:-4 of gfx12
  Rig below(Target::gfx1200, "018006ed00008200 00fcffff");
  below.s(1) = 0;
  below.ramp(0, 0);
  EXPECT_EQ(below.run(), Exit::fault);
  EXPECT_EQ(below.fault().kind, FaultKind::aperture);
}

TEST(RdnaAtomics, SubtractionsThatStayAboveZero) {
  struct {
    Target target;
    const char* hex;
    uint32_t left;
  } cases[] = {{Target::gfx1030, "0080d1dc00010202", 0},                 // CSUB
               {Target::gfx1200, "02c00dee02009000 00000000", 0},        // SUB_CLAMP
               {Target::gfx1200, "020014ee02009000 00000000", 0x1000}};  // COND_SUB
  for (const auto& c : cases) {
    Rig rig(c.target, c.hex);
    rig.wave().set_exec(1);
    rig.v(0, 0) = 0, rig.v(1, 0) = 0x1001;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(2, 0), 0x1000u);
    EXPECT_EQ(rig.memory[0], c.left) << c.hex;
  }
}

TEST(RdnaAtomics, Gfx11ComparesTheSecondOperand) {
  Rig rig(Target::gfx1100, "0000c0d800010203");  // ds_cmpstore_rtn_b32 v3, v0, v1, v2
  rig.wave().set_exec(3);
  for (uint32_t l = 0; l < 2; l++) {
    rig.v(0, int(l)) = 4 * l, rig.v(1, int(l)) = 7, rig.v(2, int(l)) = 40 + l;
    rig.group().lds[4 * l] = 40;
  }
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.group().lds[0], 7);
  EXPECT_EQ(rig.group().lds[4], 40);
  EXPECT_EQ(rig.v(3, 1), 40u);
}

TEST(RdnaLanes, ExchangesWrapAtTheWave) {
  Rig rig(Target::gfx1030, "0000ccda00010002");  // ds_bpermute_b32 v2, v0, v1
  rig.ramp(1, 1);
  for (int l = 0; l < 32; l++) rig.v(0, l) = 4 * (uint32_t(l) + 33);
  rig.wave().set_exec(0xfffffffe);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.v(2, 1), 2u);
  EXPECT_EQ(rig.v(2, 31), 0u);                        // lane 0 does not execute
  Rig inactive(Target::gfx1200, "000034db00010002");  // ds_bpermute_fi_b32 v2, v0, v1
  inactive.ramp(1, 1);
  for (int l = 0; l < 32; l++) inactive.v(0, l) = 4 * 7, inactive.v(1, l) = uint32_t(l) + 1;
  inactive.wave().set_exec(1);
  ASSERT_EQ(inactive.run(), Exit::ended);
  EXPECT_EQ(inactive.v(2, 0), 8u);
}

TEST(RdnaGlobal, AddressesByTheLanesNumber) {
  Rig rig(Target::gfx1030, "088058dc00000202");  // global_load_dword_addtid v2, s[2:3] offset:8
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (uint32_t l = 0; l < 32; l++) EXPECT_EQ(rig.v(2, int(l)), 0x1002 + l);
}

TEST(RdnaScalarMemory, Gfx12LoadsBytesHalvesAndThreeDwords) {
  Rig rig(Target::gfx1200,
          "01a200f4000000f8"    // s_load_b96 s[8:10], s[2:3], 0x0
          "c10201f4030000f8"    // s_load_i8 s11, s[2:3], 0x3
          "016301f4010000f8"    // s_load_u16 s12, s[2:3], 0x1
          "424303f4020000f8"    // s_buffer_load_i16 s13, s[4:7], 0x2
          "822303f4080000f8");  // s_buffer_load_u8 s14, s[4:7], 0x8
  rig.resource(0, 8, word3(kUint32, kRaw));
  rig.memory[0] = 0x80f1'0203;
  for (int i = 8; i < 15; i++) rig.s(i) = ~0u;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(8), 0x80f10203u);
  EXPECT_EQ(rig.s(10), 0x1002u);
  EXPECT_EQ(rig.s(11), 0xffffff80u);
  EXPECT_EQ(rig.s(12), 0xf102u);
  EXPECT_EQ(rig.s(13), 0xffff80f1u);
  EXPECT_EQ(rig.s(14), 0u);  // behind the buffer's end
}

// --- NULL in the place of several registers ---

// s[0:3] would be a buffer with records, and s[0:1] an address.
struct NullRig : Rig {
  NullRig(Target target, std::string_view hex) : Rig(target, hex) {
    set64(0, base());
    s(2) = 4096, s(3) = word3(kUint32, kRaw) & ~(1u << 24);
    ramp(0, 4);
  }
};

TEST(NullResources, HaveNoRecordsAndNoImage) {
  NullRig load(Target::gfx1200, "7c0005c402f88040 00000000");  // buffer_load_b32 v2, v0, null, null offen
  ASSERT_EQ(load.run(), Exit::ended) << load.fault().detail;
  EXPECT_EQ(load.v(2, 0) | load.v(2, 31), 0u);
  NullRig store(Target::gfx1200, "7c8006c401f88040 00000000");  // buffer_store_b32 v1, v0, null, null offen
  ASSERT_EQ(store.run(), Exit::ended) << store.fault().detail;
  EXPECT_EQ(store.memory[0], 0x1000u);
  NullRig before(Target::gfx1100, "000050e000021f80");  // buffer_load_b32 v2, off, null, 0
  ASSERT_EQ(before.run(), Exit::ended) << before.fault().detail;
  EXPECT_EQ(before.v(2, 0), 0u);
  NullRig image(Target::gfx1200,
                "010040d00af80000 00010000");  // image_load v10, [v0, v1], null dmask:0x1 dim:SQ_RSRC_IMG_2D
  ASSERT_EQ(image.run(), Exit::ended) << image.fault().detail;
  EXPECT_EQ(image.v(10, 0), 0u);
}

TEST(NullResources, AreZeroForScalarMemory) {
  NullRig buffer(Target::gfx1200, "3e0202f4000000f8");  // s_buffer_load_b32 s8, null, 0x0
  buffer.s(8) = 7;
  ASSERT_EQ(buffer.run(), Exit::ended) << buffer.fault().detail;
  EXPECT_EQ(buffer.s(8), 0u);
  NullRig load(Target::gfx1200, "3e2200f4000100f8");  // s_load_b64 s[8:9], null, 0x100
  EXPECT_EQ(load.run(), Exit::fault);
  EXPECT_EQ(load.fault().kind, FaultKind::memory);
  EXPECT_EQ(load.fault().address, 0x100u);
}

}  // namespace
}  // namespace morgana::device
