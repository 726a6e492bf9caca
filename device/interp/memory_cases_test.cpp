// Memory instructions case by case: scalar memory, data formats, faults, orders that the model of
// memory_test.cpp does not know. Encodings by llvm-mc 22.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "device/apertures.h"
#include "device/testing/memory_rig.h"

#define MORGANA_SIMD memory_cases  // a copy of its own
#include "device/semantics/formats.h"

namespace morgana::device {
namespace {

struct Rig : MemoryRig {
  Rig(Target target, std::string_view hex, const RigOptions& options = all_memories())
      : MemoryRig(target, hex, options) {
    wave().set_exec(~0ull);
  }
  void address(int lane, uint64_t value) { v(2, lane) = uint32_t(value), v(3, lane) = uint32_t(value >> 32); }
  void resource(int n, uint32_t stride, uint32_t records, uint32_t word3 = 0x00027000) {
    set64(n, base() | uint64_t{stride} << 48);
    s(n + 2) = records, s(n + 3) = word3;
  }
};

// --- Data formats ---

// Near ties, where the product in float is a tie and the exact one is none: 0.5 and 2.5 less or more a
// little.
TEST(Formats, NormalisedNumbersAreScaledInFloat) {
  using namespace memory_cases::formats;
  EXPECT_EQ(encode_component(0x3b008081, 8, kUnorm), 0u);
  EXPECT_EQ(encode_component(0x3c20a0a1, 8, kUnorm), 2u);
  EXPECT_EQ(encode_component(0x3c418306, 8, kSnorm), 2u);
  EXPECT_EQ(encode_component(0x3ac0300c, 10, kUnorm), 2u);
  EXPECT_EQ(encode_component(0x37c000c0, 16, kUnorm), 2u);
  EXPECT_EQ(encode_component(0xb8400180, 16, kSnorm), 0xfffeu);
}

// --- Scalar memory ---

TEST(ScalarMemory, SmrdImmediatesCountDwordsAndRegistersCountBytes) {
  for (Target target : {Target::gfx600, Target::gfx701}) {
    Rig rig(target,
            "030504c0"
            "0c0445c0"
            "010508c1");  // s8 <- 3 dwords; s[10:11] <- s12; s[16:31] <- 1 dword
    rig.set64(4, rig.base());
    rig.s(12) = 21;  // the two low bits are dropped
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.s(8), 0x1003u);
    EXPECT_EQ(rig.s(10), 0x1005u);
    EXPECT_EQ(rig.s(11), 0x1006u);
    for (uint32_t i = 0; i < 16; i++) EXPECT_EQ(rig.s(16 + int(i)), 0x1001u + i);
  }
  Rig literal(Target::gfx701, "ff0404c034020000");
  literal.set64(4, literal.base());
  ASSERT_EQ(literal.run(), Exit::ended);
  EXPECT_EQ(literal.s(8), 0x1000u + 0x234);
}

TEST(ScalarMemory, SmrdLoadsOfEverySize) {
  for (Target target : {Target::gfx600, Target::gfx701}) {
    Rig rig(target,
            "020584c0"    // s_load_dwordx4 s[8:11], s[4:5], 0x2
            "0305c8c0"    // s_load_dwordx8 s[16:23], s[4:5], 0x3
            "01310cc2"    // s_buffer_load_dword s24, s[48:51], 0x1
            "0c304dc2"    // s_buffer_load_dwordx2 s[26:27], s[48:51], s12
            "02310ec3");  // s_buffer_load_dwordx16 s[28:43], s[48:51], 0x2
    rig.set64(4, rig.base());
    rig.resource(48, 0, 40);
    rig.s(12) = 20;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (uint32_t i = 0; i < 4; i++) EXPECT_EQ(rig.s(8 + int(i)), 0x1002u + i);
    for (uint32_t i = 0; i < 8; i++) EXPECT_EQ(rig.s(16 + int(i)), 0x1003u + i);
    EXPECT_EQ(rig.s(24), 0x1001u);
    EXPECT_EQ(rig.s(26), 0x1005u);
    EXPECT_EQ(rig.s(27), 0x1006u);
    for (uint32_t i = 0; i < 16; i++)
      EXPECT_EQ(rig.s(28 + int(i)), i < 8 ? 0x1002u + i : 0u) << "past 40 bytes";
    Rig more(target,
             "02318cc2"    // s_buffer_load_dwordx4 s[24:27], s[48:51], 0x2
             "0031cec2");  // s_buffer_load_dwordx8 s[28:35], s[48:51], 0x0
    more.resource(48, 0, 400);
    ASSERT_EQ(more.run(), Exit::ended) << more.fault().detail;
    for (uint32_t i = 0; i < 4; i++) EXPECT_EQ(more.s(24 + int(i)), 0x1002u + i);
    for (uint32_t i = 0; i < 8; i++) EXPECT_EQ(more.s(28 + int(i)), 0x1000u + i);
  }
}

TEST(ScalarMemory, SmemOffsetsAreBytes) {
  Rig old(Target::gfx803,
          "020206c014000000"
          "020408c00c000000");
  old.set64(4, old.base());
  old.s(12) = 8;
  ASSERT_EQ(old.run(), Exit::ended) << old.fault().detail;
  EXPECT_EQ(old.s(8), 0x1005u);
  EXPECT_EQ(old.s(9), 0x1006u);
  for (uint32_t i = 0; i < 4; i++) EXPECT_EQ(old.s(16 + int(i)), 0x1002u + i);
  for (Target target : {Target::gfx900, Target::gfx908, Target::gfx90a, Target::gfx942, Target::gfx950}) {
    // SGPR and immediate; a negative immediate into VCC; scratch units of 64 bytes.
    Rig rig(target,
            "02440ec010000018"
            "821a06c0f8ff1f00"
            "020214c00c000000");
    rig.set64(4, rig.base() + 64);
    rig.s(12) = 2;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.s(106), 0x1000u + 14);
    EXPECT_EQ(rig.s(107), 0x1000u + 15);
    EXPECT_EQ(rig.s(8), 0x1000u + 16 + 32);
    EXPECT_EQ(rig.s(16), 0x1000u + 16 + 4);
  }
}

TEST(ScalarMemory, BufferDwordsOutOfRangeAreZero) {
  Rig rig(Target::gfx950, "0a0228c00c000000");
  rig.resource(20, 0, 16);
  rig.s(12) = 8;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(8), 0x1002u);
  EXPECT_EQ(rig.s(9), 0x1003u);
  EXPECT_EQ(rig.s(10), 0u);
  EXPECT_EQ(rig.s(11), 0u);
  Rig store(Target::gfx900, "0a026ac008000000");
  store.resource(20, 0, 16);
  for (int i = 0; i < 4; i++) store.s(8 + i) = uint32_t(i);
  ASSERT_EQ(store.run(), Exit::ended);
  EXPECT_EQ(store.memory[2], 0u);
  EXPECT_EQ(store.memory[3], 1u);
  EXPECT_EQ(store.memory[4], 0x1004u);
}

TEST(ScalarMemory, StoresAndAtomics) {
  Rig store(Target::gfx803,
            "020246c010000000"
            "020240c07c000000");
  store.set64(4, store.base());
  store.s(8) = 7, store.s(9) = 8, store.wave().m0() = 44;
  ASSERT_EQ(store.run(), Exit::ended) << store.fault().detail;
  EXPECT_EQ(store.memory[4], 7u);
  EXPECT_EQ(store.memory[5], 8u);
  EXPECT_EQ(store.memory[11], 7u);

  Rig add(Target::gfx900, "02020bc208000000");
  add.set64(4, add.base());
  add.s(8) = 5;
  ASSERT_EQ(add.run(), Exit::ended);
  EXPECT_EQ(add.memory[2], 0x1007u);
  EXPECT_EQ(add.s(8), 0x1002u);

  Rig sub(Target::gfx900, "02020ec208000000");  // no GLC: SDATA keeps its value
  sub.set64(4, sub.base());
  sub.s(8) = 2;
  ASSERT_EQ(sub.run(), Exit::ended);
  EXPECT_EQ(sub.memory[2], 0x1000u);
  EXPECT_EQ(sub.s(8), 2u);

  Rig swap(Target::gfx950, "020287c208000000");
  swap.set64(4, swap.base());
  swap.s(8) = 1, swap.s(9) = 2, swap.s(10) = 0x1002, swap.s(11) = 0x1003;
  ASSERT_EQ(swap.run(), Exit::ended);
  EXPECT_EQ(swap.memory[2], 1u);
  EXPECT_EQ(swap.memory[3], 2u);
  EXPECT_EQ(swap.s(8), 0x1002u);
  EXPECT_EQ(swap.s(9), 0x1003u);
}

TEST(ScalarMemory, EachHalfOfVccIsSdata) {
  struct Row {
    Target target;
    const char *high, *low;  // s_load_dword vcc_hi, s[4:5], 0x4; s_load_dword vcc_lo, s[4:5], 0x8
  };
  for (const Row& row : {Row{Target::gfx803, "c21a02c004000000", "821a02c008000000"},
                         Row{Target::gfx950, "c21a02c004000000", "821a02c008000000"},
                         Row{Target::gfx1030, "c21a00f4040000fa", "821a00f4080000fa"},
                         Row{Target::gfx1200, "c21a00f4040000f8", "821a00f4080000f8"}}) {
    Rig rig(row.target, std::string(row.high) + row.low);
    rig.set64(4, rig.base());
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.s(isa::kVccHi), 0x1001u);
    EXPECT_EQ(rig.s(isa::kVccLo), 0x1002u);
  }
}

TEST(ScalarMemory, ClocksRunAndCacheControlsDoNothing) {
  Rig rig(Target::gfx950,
          "000294c000000000"
          "800290c000000000"
          "000084c000000000"
          "0200a2c000000000");
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  const auto read = [&](int n) { return rig.s(n) | uint64_t{rig.s(n + 1)} << 32; };
  const uint64_t real = read(8), core = read(10);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_GE(read(8), real);
  EXPECT_GT(read(10), core);
}

// --- Faults ---

TEST(ScalarMemory, OlderClocksAndCacheControls) {
  // s_memtime s[8:9]; s_dcache_inv; what each target has of s_dcache_inv_vol and buffer_{wbinvl1,invl2}*
  const std::pair<Target, const char*> programs[] = {
      {Target::gfx600, "000084c7 0000c0c7 0000c4e100000000 0000c0e100000000"},
      {Target::gfx701, "000084c7 0000c0c7 000040c7 0000c4e100000000 0000c0e100000000"},
      {Target::gfx803, "000290c000000000 000080c000000000 0000f8e000000000 0000fce000000000"},
      {Target::gfx900, "000290c000000000 000080c000000000 0000f8e000000000 0000fce000000000"},
      {Target::gfx906, "000290c000000000 000080c000000000 0000f8e000000000 0000fce000000000"},
      {Target::gfx908, "000290c000000000 000080c000000000 0000f8e000000000 0000fce000000000"},
      {Target::gfx90a,
       "000290c000000000 000080c000000000 0000f8e000000000 0000fce000000000 0000a4e000000000"}};
  for (const auto& [target, hex] : programs) {
    Rig rig(target, hex);
    rig.s(8) = rig.s(9) = 0;
    const std::vector<uint32_t> memory = rig.memory;
    ASSERT_EQ(rig.run(), Exit::ended) << info(target).name << rig.fault().detail;
    const uint64_t first = rig.s(8) | uint64_t{rig.s(9)} << 32;
    ASSERT_EQ(rig.run(), Exit::ended);
    EXPECT_GT(rig.s(8) | uint64_t{rig.s(9)} << 32, first) << info(target).name;
    EXPECT_EQ(rig.memory, memory);
    for (int n = 0; n < 16; n++) EXPECT_EQ(rig.v(n, 5), 0xdead0000u + uint32_t(n));
  }
}

// --- The global data share ---

struct GdsCode {
  Target target;
  const char *write, *read, *add, *append, *consume, *byte;
};
constexpr GdsCode kGds[] = {
    // ds_write_b32 v2, v3 offset:4 gds; ds_read_b32 v4, v2 offset:4 gds; ds_add_rtn_u32 v4, v2, v3 gds;
    // ds_append v4 offset:16 gds; ds_consume v4 offset:16 gds; ds_read_u8 v4, v2 gds
    {Target::gfx600, "040036d802030000", "0400dad802000004", "000082d802030004", "1000fad800000004",
     "1000f6d800000004", "0000ead802000004"},
    {Target::gfx701, "040036d802030000", "0400dad802000004", "000082d802030004", "1000fad800000004",
     "1000f6d800000004", "0000ead802000004"},
    {Target::gfx803, "04001bd802030000", "04006dd802000004", "000041d802030004", "10007dd900000004",
     "10007bd900000004", "000075d802000004"},
    {Target::gfx908, "04001bd802030000", "04006dd802000004", "000041d802030004", "10007dd900000004",
     "10007bd900000004", "000075d802000004"}};

TEST(GlobalDataShare, IsZeroAtFirstAndLiesAtTheBaseOfM0) {
  for (const GdsCode& code : kGds) {
    SCOPED_TRACE(info(code.target).name);
    // The first read finds zeros; then every lane its own dword, and lane 63 nothing: it lies behind the
    // size.
    Rig rig(code.target, std::string(code.read) + code.write);
    for (uint32_t l = 0; l < kLanes; l++) rig.v(2, int(l)) = 4 * l, rig.v(3, int(l)) = 100 + l;
    rig.wave().m0() = 0x400u << 16 | 256;
    std::memset(rig.group().lds, 0xee, rig.group().lds_size);
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (int l = 0; l < kLanes; l++) EXPECT_EQ(rig.v(4, l), 0u);
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int l = 0; l < kLanes; l++) EXPECT_EQ(rig.v(4, l), l < 63 ? 100u + uint32_t(l) : 0u) << l;
    // The same place from another base.
    rig.wave().m0() = 0x410u << 16 | 16;
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int l = 0; l < kLanes; l++) EXPECT_EQ(rig.v(4, l), l < 3 ? 104u + uint32_t(l) : 0u) << l;
    // The end of the share bounds every size: of 64 KiB, or gfx908's 4.
    const uint32_t bytes = code.target == Target::gfx908 ? 0x1000 : 0x10000;
    rig.wave().m0() = (bytes - 32) << 16 | 0xffff;
    ASSERT_EQ(rig.run(), Exit::ended);
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int l = 0; l < kLanes; l++) EXPECT_EQ(rig.v(4, l), l < 7 ? 100u + uint32_t(l) : 0u) << l;
    for (uint32_t i = 0; i < rig.group().lds_size; i++) ASSERT_EQ(rig.group().lds[i], 0xee) << "LDS stays";
  }
}

TEST(GlobalDataShare, AtomicsAndCounters) {
  for (const GdsCode& code : kGds) {
    SCOPED_TRACE(info(code.target).name);
    Rig add(code.target, code.add);
    for (uint32_t l = 0; l < kLanes; l++) add.v(2, int(l)) = 8, add.v(3, int(l)) = l;
    add.wave().m0() = 0xffff;
    ASSERT_EQ(add.run(), Exit::ended) << add.fault().detail;
    for (uint32_t l = 0; l < kLanes; l++) EXPECT_EQ(add.v(4, int(l)), l * (l - 1) / 2);
    // A misaligned atomic names the instruction.
    add.v(2, 9) = 10;
    ASSERT_EQ(add.run(), Exit::fault);
    EXPECT_EQ(add.fault().kind, FaultKind::misaligned);
    EXPECT_EQ(add.fault().lane, 9);
    EXPECT_EQ(add.fault().pc, add.entry());

    // Counters at base + offset; the size does not bound them.
    Rig count(code.target, std::string(code.append) + code.append + code.consume);
    count.wave().set_exec(0x7f);
    count.wave().m0() = 0x40u << 16;
    ASSERT_EQ(count.run(), Exit::ended) << count.fault().detail;
    EXPECT_EQ(count.v(4, 0), 14u);
    EXPECT_EQ(count.v(4, 6), 14u);
    EXPECT_EQ(count.v(4, 7), 0xdead0004u);
    ASSERT_EQ(count.run(), Exit::ended);
    EXPECT_EQ(count.v(4, 0), 21u);
  }
}

// At the dword of base + offset: base is M0's upper half, or M0 where that is 0.
TEST(LocalCounters, LieWhereTheBaseAndTheOffsetLead) {
  Rig rig(Target::gfx900, "10007cd900000004");  // ds_append v4 offset:16
  std::memset(rig.group().lds, 0, rig.group().lds_size);
  rig.wave().set_exec(0x7f);
  uint32_t before = 0;
  for (const uint32_t m0 : {0x1ffffu, 0x2ffc0u, 3u}) {
    rig.wave().m0() = m0;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(4, 6), before) << m0;
    EXPECT_EQ(rig.v(4, 7), 0xdead0004u);
    before += 7;
  }
  uint32_t sum;
  std::memcpy(&sum, rig.group().lds + 16, 4);
  EXPECT_EQ(sum, 21u);
  rig.wave().m0() = 8;
  ASSERT_EQ(rig.run(), Exit::ended);
  std::memcpy(&sum, rig.group().lds + 24, 4);
  EXPECT_EQ(sum, 7u);
}

TEST(GlobalWaveSync, OfOneWave) {
  for (Target target : {Target::gfx600, Target::gfx701}) {
    // ds_gws_init v0; ds_gws_barrier v0; ds_gws_init v0; ds_gws_sema_v; ds_gws_sema_p; ds_gws_sema_br v0;
    // twice ds_gws_sema_p
    Rig rig(target,
            "000066d800000000 000076d800000000 000066d800000000 00006ad800000000 000072d800000000"
            "00006ed801000000 000072d800000000 000072d800000000");
    for (int l = 0; l < kLanes; l++) rig.v(0, l) = 0, rig.v(1, l) = 2;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    // Nothing is left: one more has to wait.
    Rig wait(target, "000066d800000000 000072d800000000");
    for (int l = 0; l < kLanes; l++) wait.v(0, l) = 0;
    EXPECT_EQ(wait.run(), Exit::quantum);
  }
  Rig release(Target::gfx701, "000062d800000000");
  EXPECT_EQ(release.run(), Exit::ended);
}

TEST(MemoryFaults, NameTheLaneAndTheAddress) {
  Rig rig(Target::gfx950, "008050dc02007f06");  // global_load_dword v6, v[2:3], off
  for (int l = 0; l < kLanes; l++) rig.address(l, rig.base() + 4u * unsigned(l));
  rig.address(37, 0x40);
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::memory);
  EXPECT_EQ(rig.fault().lane, 37u);
  EXPECT_EQ(rig.fault().address, 0x40u);
  EXPECT_FALSE(rig.fault().is_write);
  for (int l = 0; l < kLanes; l++)
    EXPECT_EQ(rig.v(2, l), l == 37 ? 0x40 : uint32_t(rig.base() + 4u * unsigned(l)));
}

TEST(MemoryFaults, OnTheFastPathTheRegistersStillTell) {
  // Two pages, the second without access; the loaded registers overlap the address.
  auto* pages =
      static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  mprotect(pages + 4096, 4096, PROT_NONE);
  for (const char* hex : {"008050dc02007f06", "00805cdc02007f06", "008050dc02007f02"}) {
    Rig rig(Target::gfx950, hex);
    const uint32_t bytes = std::string(hex).starts_with("00805c") ? 16 : 4;
    for (unsigned l = 0; l < kLanes; l++)
      rig.address(int(l), reinterpret_cast<uint64_t>(pages) + 4096 - 20 * bytes + bytes * l);
    ASSERT_EQ(rig.run(), Exit::fault);
    EXPECT_EQ(rig.fault().kind, FaultKind::memory);
    EXPECT_GE(rig.fault().address, reinterpret_cast<uint64_t>(pages) + 4096) << hex;
    EXPECT_GE(rig.fault().lane, 20u) << hex;
  }
  munmap(pages, 8192);
}

TEST(MemoryFaults, InactiveLanesTouchNothing) {
  Rig rig(Target::gfx950,
          "008050dc02007f06"
          "008008dd02067f00");  // load, atomic add
  for (int l = 0; l < kLanes; l++) rig.address(l, 0xdead'beef'0000'0000);
  rig.address(5, rig.base() + 8);
  rig.wave().set_exec(1u << 5);
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(6, 5), 0x1002u);
  EXPECT_EQ(rig.v(6, 6), 0xdead0006u);
  EXPECT_EQ(rig.memory[2], 0x2004u);
  rig.wave().set_exec(0);
  rig.address(5, 1);
  EXPECT_EQ(rig.run(), Exit::ended);
}

TEST(MemoryFaults, NonCanonicalAddressesAndWrites) {
  Rig rig(Target::gfx950, "008008dd02067f00");  // global_atomic_add v[2:3], v6, off
  for (int l = 0; l < kLanes; l++) rig.address(l, rig.base());
  rig.address(9, 0x1234'5678'0000'0000);
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().lane, 9u);
  EXPECT_EQ(rig.fault().address, 0x1234'5678'0000'0000u);
  EXPECT_TRUE(rig.fault().is_write);
}

TEST(MemoryFaults, AtomicsMustBeAligned) {
  Rig rig(Target::gfx950, "008008dd02067f00");
  for (int l = 0; l < kLanes; l++) rig.address(l, rig.base());
  rig.address(3, rig.base() + 2);
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::misaligned);
  EXPECT_EQ(rig.fault().lane, 3u);
  Rig lds(Target::gfx950, "000000d802060000");  // ds_add_u32 v2, v6
  for (int l = 0; l < kLanes; l++) lds.v(2, l) = l == 60 ? 7 : 4;
  ASSERT_EQ(lds.run(), Exit::fault);
  EXPECT_EQ(lds.fault().kind, FaultKind::misaligned);
  EXPECT_EQ(lds.fault().lane, 60u);
}

TEST(MemoryFaults, AperturesEndWithTheirSegments) {
  Rig rig(Target::gfx950, "000050dc02000006");  // flat_load_dword v6, v[2:3]
  for (int l = 0; l < kLanes; l++) rig.address(l, kPrivateBase + 4);
  rig.address(17, kPrivateBase + rig.wave().scratch_lane_bytes - 2);
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::aperture);
  EXPECT_EQ(rig.fault().lane, 17u);
  for (int l = 0; l < kLanes; l++) rig.address(l, kSharedBase + 4);
  rig.address(21, kSharedBase + rig.group().lds_size);
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::aperture);
  EXPECT_EQ(rig.fault().lane, 21u);
  Rig store(Target::gfx950, "006070dc02067f00");  // scratch_store_dword v2, v6, off
  for (int l = 0; l < kLanes; l++) store.v(2, l) = 0;
  store.v(2, 50) = 0xfffffffc;
  ASSERT_EQ(store.run(), Exit::fault);
  EXPECT_EQ(store.fault().kind, FaultKind::aperture);
  EXPECT_EQ(store.fault().lane, 50u);
}

TEST(MemoryFaults, GlobalMayNotReachLds) {
  Rig rig(Target::gfx950, "008050dc02007f06");
  for (unsigned l = 0; l < kLanes; l++) rig.address(int(l), kSharedBase + 4 * l);
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::memory);
}

TEST(MemoryFaults, ScalarLoads) {
  Rig rig(Target::gfx950, "020206c000000000");
  rig.set64(4, 0x10000);
  rig.s(8) = 77;
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().address, 0x10000u);
  EXPECT_EQ(rig.s(8), 77u);
}

// --- Orders ---

TEST(MemoryOrder, TheHighestLaneWins) {
  Rig rig(Target::gfx950, "008070dc02060400");  // global_store_dword v2, v6, s[4:5]
  rig.set64(4, rig.base());
  for (int l = 0; l < kLanes; l++) rig.v(2, l) = 16, rig.v(6, l) = uint32_t(l);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.memory[4], 63u);
  rig.wave().set_exec(0xff);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.memory[4], 7u);
}

TEST(MemoryOrder, OffsetsDoNotWrapAt32Bits) {
  // Offsets that are a progression modulo 2^32 but not as numbers must not be taken for neighbours.
  auto* pages = static_cast<uint8_t*>(mmap(nullptr, (1ull << 32) + 8192, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  Rig rig(Target::gfx950, "008070dc02060400");
  rig.set64(4, reinterpret_cast<uint64_t>(pages));
  for (unsigned l = 0; l < kLanes; l++) rig.v(2, int(l)) = 0xffffff80u + 4 * l, rig.v(6, int(l)) = l;
  ASSERT_EQ(rig.run(), Exit::ended);
  uint32_t low = 0, high = 0;
  std::memcpy(&low, pages, 4);
  std::memcpy(&high, pages + (1ull << 32) - 4, 4);
  EXPECT_EQ(low, 32u);
  EXPECT_EQ(high, 31u);
  munmap(pages, (1ull << 32) + 8192);
}

// gfx8: NUM_RECORDS counts strides in a swizzled structured buffer, bytes in a linear one; with ADD_TID the
// data format extends the stride there as on gfx9.
TEST(Buffer, RecordsAndWideStridesOfGfx8) {
  constexpr const char* kLoad = "002050e002080280";  // buffer_load_dword v8, v2, s[8:11], 0 idxen
  for (bool swizzled : {false, true}) {
    Rig rig(Target::gfx803, kLoad);
    rig.resource(8, 4, 40, 0x000a7000);  // element 4, index stride 8
    if (swizzled) rig.s(9) |= 1u << 31;
    for (int l = 0; l < kLanes; l++) rig.v(2, l) = uint32_t(l);
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (int l = 0; l < kLanes; l++)
      EXPECT_EQ(rig.v(8, l), l < (swizzled ? 40 : 10) ? 0x1000u + uint32_t(l) : 0u) << l;
  }
  for (Target target : {Target::gfx701, Target::gfx803, Target::gfx900}) {
    // DATA_FORMAT 8, which makes 128 KiB of stride.
    Rig rig(target, target == Target::gfx701 ? "002030e002080280" : kLoad);
    rig.memory.resize(1 << 18);
    rig.memory[1 << 15] = 7;
    rig.resource(8, target == Target::gfx701 ? 4 : 0, 1 << 20, 1u << 23 | 8u << 15);
    rig.wave().set_exec(1);
    rig.v(2, 0) = 1;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(8, 0), target == Target::gfx701 ? 0x1001u : 7u);
  }
}

TEST(Buffer, BaseOfA64BitAddressMayBeNegative) {
  // clang folds a constant into the base: s_mov_b64 s[4:5], -4 (PolyBench-ACC's jacobi-2d on gfx600).
  Rig rig(Target::gfx600, "008030e002000180");
  rig.set64(4, ~uint64_t{3});
  rig.s(6) = 0, rig.s(7) = 0x0100f000;
  for (unsigned l = 0; l < kLanes; l++) rig.address(int(l), rig.base() + 4 * (l + 1));
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (int l = 0; l < kLanes; l++) EXPECT_EQ(rig.v(0, l), 0x1000u + uint32_t(l));
}

TEST(MemoryOrder, ReturningFloatAtomicKeepsDenormalsByGeneration) {
  struct Row {
    Target target;
    const char* hex;
    uint32_t sum;
  };
  for (const auto& [target, hex, sum] :
       {Row{Target::gfx90a, "008035dd02067f06", 0}, Row{Target::gfx942, "008035dd02067f06", 3},
        Row{Target::gfx1100, "00405add02067c06", 0}, Row{Target::gfx1200, "7c8015ee0600100302000000", 3}}) {
    Rig rig(target, hex);
    rig.memory[0] = 1;
    for (int l = 0; l < kLanes; l++) rig.address(l, rig.base()), rig.v(6, l) = 2;
    rig.wave().set_exec(1);
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(6, 0), 1u);
    EXPECT_EQ(rig.memory[0], sum) << info(target).name;
  }
}

// One after another, lowest first; the destination is a source.
TEST(MemoryOrder, AtomicsOfLanesAtOneAddressSeeEachOther) {
  const auto sum = [](uint64_t old, int l) {
    return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(uint64_t(l + 1) << 52));
  };
  struct {
    const char* hex;
    bool is_wide, compares;
    uint64_t (*next)(uint64_t old, int l);
  } const cases[] = {
      {"008005dd02047f04", false, true, [](uint64_t old, int l) { return old == uint64_t(l) ? l + 1 : old; }},
      {"008085dd02047f04", true, true, [](uint64_t old, int l) { return old == uint64_t(l) ? l + 1 : old; }},
      {"008009dd02047f04", false, false, [](uint64_t old, int l) { return old + l + 1; }},
      {"00802ddd02047f04", false, false,
       [](uint64_t old, int l) { return old >= uint64_t(l) + 1 ? 0 : old + 1; }},
      {"00803ddd02047f04", true, false, sum},
  };
  for (const auto& c : cases)
    for (const uint64_t exec : {~uint64_t{0}, ~uint64_t{0x20}, uint64_t{6}, uint64_t{1} << 63}) {
      Rig rig(Target::gfx942, c.hex);
      const bool is_float = c.next == +sum;
      rig.wave().set_exec(exec);
      rig.memory[8] = rig.memory[9] = 0;
      rig.memory[10] = 77;
      for (int l = 0; l < kLanes; l++) {
        rig.address(l, rig.base() + (exec >> l & 1 ? 32 : 33));
        const uint64_t data = is_float ? uint64_t(l + 1) << 52 : uint64_t(l + 1);
        rig.v(4, l) = uint32_t(data), rig.v(5, l) = uint32_t(data >> 32);
        if (!c.is_wide && c.compares) rig.v(5, l) = uint32_t(l);
        if (c.is_wide && c.compares) rig.v(6, l) = uint32_t(l), rig.v(7, l) = 0;
      }
      ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
      uint64_t old = 0;
      for (int l = 0; l < kLanes; l++) {
        if (!(exec >> l & 1)) continue;
        EXPECT_EQ(rig.v(4, l), uint32_t(old)) << c.hex << " lane " << l;
        if (c.is_wide) EXPECT_EQ(rig.v(5, l), uint32_t(old >> 32)) << c.hex << " lane " << l;
        old = c.next(old, l);
      }
      EXPECT_EQ(rig.memory[8], uint32_t(old)) << c.hex;
      EXPECT_EQ(rig.memory[9], uint32_t(old >> 32)) << c.hex;
      EXPECT_EQ(rig.memory[10], 77u);
    }
}

// --- Transposing reads ---

TEST(LdsTranspose, LaneMGetsColumnMOfItsTile) {
  struct {
    const char* hex;
    unsigned bits, dwords, stride;
  } const cases[] = {{"1000c0d902000006", 4, 2, 8},
                     {"1000c2d902000006", 6, 3, 16},
                     {"1000c4d902000006", 8, 2, 8},
                     {"1000c6d902000006", 16, 2, 8}};
  for (const auto& c : cases) {
    const unsigned elements = c.dwords * 32 / c.bits, beside = 16 / elements;
    const auto value = [&](unsigned tile, unsigned row, unsigned column) {
      return ((tile * 16 + row) * 37 + column * 11) & ((1u << c.bits) - 1);
    };
    Rig rig(Target::gfx950, c.hex, {.group_bytes = 2048});
    for (unsigned l = 0; l < kLanes; l++) {
      // Lane `l` supplies `elements` neighbours of one row.
      std::vector<uint8_t> line(c.dwords * 4);
      for (unsigned e = 0; e < elements; e++)
        for (unsigned b = 0; b < c.bits; b++) {
          const unsigned bit = e * c.bits + b;
          line[bit / 8] |=
              uint8_t((value(l / 16, l % 16 / beside, l % beside * elements + e) >> b & 1) << (bit % 8));
        }
      std::memcpy(rig.group().lds + 16 + l * c.stride, line.data(), line.size());
      rig.v(2, int(l)) = l * c.stride;
    }
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (unsigned l = 0; l < kLanes; l++)
      for (unsigned e = 0; e < elements; e++) {
        uint32_t got = 0;
        for (unsigned b = 0; b < c.bits; b++) {
          const unsigned bit = e * c.bits + b;
          got |= (rig.v(6 + int(bit / 32), int(l)) >> (bit % 32) & 1) << b;
        }
        ASSERT_EQ(got, value(l / 16, e, l % 16)) << c.bits << " bits, lane " << l << " element " << e;
      }
  }
}

// --- Formats ---

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

struct FormatCase {
  unsigned data, numeric;
  std::vector<uint32_t> record;
  uint32_t expected[4];
};
constexpr uint32_t kIdentity = 4 | 5 << 3 | 6 << 6 | 7 << 9;

TEST(BufferFormats, LoadsConvert) {
  const FormatCase cases[] = {
      {1, 0, {0x80}, {bits(128 / 255.f), 0, 0, 0}},
      {1, 5, {0x80}, {0xffffff80, 0, 0, 0}},
      {2, 1, {0x8000}, {bits(-1), 0, 0, 0}},
      {3, 2, {0x0207}, {bits(7), bits(2), 0, 0}},
      {4, 7, {0x7fc00001}, {0x7fc00001, 0, 0, 0}},
      {5, 7, {0xbc003c00}, {bits(1), bits(-1), 0, 0}},
      {5, 3, {0xfffe0003}, {bits(3), bits(-2), 0, 0}},
      {6, 7, {0x3c0u | 0x3c0u << 11 | 0x1e0u << 22}, {bits(1), bits(1), bits(1), 0}},
      {9, 0, {0x3ffu | 0u << 10 | 0x3ffu << 20 | 3u << 30}, {bits(1), 0, bits(1), bits(1)}},
      {8, 4, {1u | 5u << 2 | 6u << 12 | 7u << 22}, {1, 5, 6, 7}},
      {10, 0, {0xff00ff00}, {0, bits(1), 0, bits(1)}},
      {11, 4, {1, 2}, {1, 2, 0, 0}},
      {12, 5, {0xffff0001, 0x80007fff}, {1, 0xffffffff, 0x7fff, 0xffff8000}},
      {13, 7, {1, 2, 3}, {1, 2, 3, 0}},
      {14, 4, {1, 2, 3, 4}, {1, 2, 3, 4}},
  };
  for (const FormatCase& c : cases) {
    Rig rig(Target::gfx950, "00200ce002060280");  // buffer_load_format_xyzw v[6:9], v2, s[8:11], 0 idxen
    std::copy(c.record.begin(), c.record.end(), rig.memory.begin() + 8);
    rig.resource(8, 32, 2, kIdentity | c.numeric << 12 | c.data << 15);
    for (int l = 0; l < kLanes; l++) rig.v(2, l) = l == 63 ? 2 : 1;
    rig.wave().set_exec(~0ull << 1);
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (int i = 0; i < 4; i++) {
      EXPECT_EQ(rig.v(6 + i, 0), 0xdead0006u + uint32_t(i));
      EXPECT_EQ(rig.v(6 + i, 7), c.expected[i])
          << "format " << c.data << " " << c.numeric << " component " << i;
      EXPECT_EQ(rig.v(6 + i, 63), 0u) << "out of range";
    }
  }
}

TEST(BufferFormats, StoresConvertBack) {
  const FormatCase cases[] = {
      {1, 0, {0x80}, {bits(128 / 255.f), 0, 0, 0}},
      {10, 0, {0xff00ff80}, {bits(0.5f), bits(2), bits(-1), bits(1)}},
      {2, 1, {0x8001}, {bits(-5), 0, 0, 0}},
      {5, 7, {0xbc003c00}, {bits(1), bits(-1), 0, 0}},
      {6, 7, {0x3c0u | 0x3c0u << 11 | 0x1e0u << 22}, {bits(1), bits(1), bits(1), 0}},
      {9, 4, {0x3ffu | 5u << 10 | 6u << 20 | 3u << 30}, {5000, 5, 6, 9}},
      {12, 5, {0x7fff8000, 3}, {0x80000000, 0x12345678, 3, 0}},
      {14, 4, {1, 2, 3, 4}, {1, 2, 3, 4}},
  };
  for (const FormatCase& c : cases) {
    Rig rig(Target::gfx950, "00201ce002060280");
    std::fill(rig.memory.begin(), rig.memory.end(), 0);
    rig.resource(8, 32, 2, kIdentity | c.numeric << 12 | c.data << 15);
    for (int l = 0; l < kLanes; l++) {
      rig.v(2, l) = l == 63 ? 2 : 1;
      for (int i = 0; i < 4; i++) rig.v(6 + i, l) = c.expected[i];
    }
    rig.wave().mode.bits = 0x0f;  // neither its rounding nor its flushing applies
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (size_t i = 0; i < 4; i++)
      EXPECT_EQ(rig.memory[8 + i], i < c.record.size() ? c.record[i] : 0)
          << "format " << c.data << " " << c.numeric;
    EXPECT_EQ(rig.memory[16], 0u);
  }
}

// rocBLAS stores what lies beside the matrix at offset -1: no dword of it comes round to the buffer's begin.
TEST(BufferStores, DwordsBehindTheLastOffsetAreOutOfRange) {
  for (Target target : {Target::gfx803, Target::gfx90a}) {
    Rig rig(target,
            "001074e002060280"    // buffer_store_dwordx2 v[6:7], v2, s[8:11], 0 offen
            "001054e0020a0280");  // buffer_load_dwordx2 v[10:11], v2, s[8:11], 0 offen
    rig.resource(8, 0, 1024);
    for (uint32_t l = 0; l < kLanes; l++) rig.v(2, int(l)) = 0u - (1 + l % 8);
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (uint32_t i = 0; i < 4; i++) EXPECT_EQ(rig.memory[i], 0x1000 + i);
    for (int l = 0; l < kLanes; l++) {
      EXPECT_EQ(rig.v(10, l), 0u);
      EXPECT_EQ(rig.v(11, l), 0u);
    }
  }
}

// rocBLAS reads rows of a tile by scalar offsets, and what is left of a matrix ends within them.
TEST(BufferLoads, ScalarOffsetsCountForTheRange) {
  for (Target target : {Target::gfx701, Target::gfx803, Target::gfx90a, Target::gfx950}) {
    Rig rig(target, target == Target::gfx701
                        ? "001030e002060204"  // buffer_load_dword v6, v2, s[8:11], s4 offen
                        : "001050e002060204");
    rig.resource(8, 0, 16);
    rig.s(4) = 8;
    for (uint32_t l = 0; l < kLanes; l++) rig.v(2, int(l)) = l * 4;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(6, 0), 0x1002u);
    EXPECT_EQ(rig.v(6, 1), 0x1003u);
    for (int l = 2; l < kLanes; l++) EXPECT_EQ(rig.v(6, l), 0u);
    rig.s(4) = 20;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(6, 0), 0u);
  }
}

// Two halves that lie apart are joined by OR in rocBLAS's kernels, which hardware with ECC allows.
TEST(BufferLoads, HalvesClearTheOtherWhereRegistersHaveEcc) {
  for (Target target : {Target::gfx900, Target::gfx90a}) {
    const bool clears = target == Target::gfx90a;
    for (bool high : {false, true}) {
      Rig rig(target, high ? "001094e002060280" : "001090e002060280");  // buffer_load_short_d16[_hi] v6
      rig.memory[0] = 0x44332211;
      rig.resource(8, 0, 1024);
      for (int l = 0; l < kLanes; l++) rig.v(2, l) = 0;
      ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
      const uint32_t old = clears ? 0 : 0xdead0006;
      EXPECT_EQ(rig.v(6, 1), high ? 0x22110000 | (old & 0xffff) : 0x2211 | (old & 0xffff0000));
    }
  }
}

TEST(BufferFormats, SelectsAndD16) {
  Rig rig(Target::gfx950, "00200ce002060280");
  rig.memory[0] = 0x44332211;
  rig.resource(8, 32, 1, 7 | 1 << 3 | 0 << 6 | 4 << 9 | 4 << 12 | 10 << 15);  // A, 1, 0, R
  for (int l = 0; l < kLanes; l++) rig.v(2, l) = 0;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.v(6, 0), 0x44u);
  EXPECT_EQ(rig.v(7, 0), 1u);
  EXPECT_EQ(rig.v(8, 0), 0u);
  EXPECT_EQ(rig.v(9, 0), 0x11u);
  for (Target target : {Target::gfx803, Target::gfx950}) {
    Rig d16(target, "00202ce002060280");  // buffer_load_format_d16_xyzw
    d16.memory[0] = 0xff00ff00;
    d16.resource(8, 32, 64, kIdentity | 10 << 15);
    for (int l = 0; l < kLanes; l++) d16.v(2, l) = 0;
    ASSERT_EQ(d16.run(), Exit::ended) << d16.fault().detail;
    EXPECT_EQ(d16.v(6, 1), target == Target::gfx803 ? 0u : 0x3c000000u);
    EXPECT_EQ(d16.v(7, 1), target == Target::gfx803 ? 0x3c00u : 0x3c000000u);
    EXPECT_EQ(d16.v(9, 1), target == Target::gfx803 ? 0x3c00u : 0xdead0009u);
  }
}

TEST(BufferFormats, TypedInstructionsBringTheirOwn) {
  Rig load(Target::gfx950, "00a051e802060280");  // 8_8_8_8 unorm
  load.memory[0] = 0xff0000ff;
  load.resource(8, 32, 1, 7 << 15);
  for (int l = 0; l < kLanes; l++) load.v(2, l) = 0;
  ASSERT_EQ(load.run(), Exit::ended) << load.fault().detail;
  EXPECT_EQ(load.v(6, 0), bits(1));
  EXPECT_EQ(load.v(7, 0), 0u);
  EXPECT_EQ(load.v(9, 0), bits(1));
  Rig store(Target::gfx950, "00a0aeeb02060280");  // d16 16_16 float
  store.resource(8, 32, 1, 7 << 15);
  for (int l = 0; l < kLanes; l++) store.v(2, l) = 0, store.v(6, l) = 0x3c004000;
  ASSERT_EQ(store.run(), Exit::ended) << store.fault().detail;
  EXPECT_EQ(store.memory[0], 0x3c004000u);
}

TEST(BufferLds, StoreFromLds) {
  for (Target target : {Target::gfx803, Target::gfx900, Target::gfx906, Target::gfx908, Target::gfx90a}) {
    Rig rig(target, "0800f5e00000020c");  // buffer_store_lds_dword s[8:11], s12 offset:8 lds
    for (uint32_t l = 0; l < 128; l++) std::memcpy(rig.group().lds + 4 * l, &l, 4);
    rig.resource(8, 0, 64, 1u << 23 | 3u << 21);
    rig.set64(8, rig.base() | uint64_t{4} << 48);  // stride 4, ADD_TID
    rig.s(12) = 4, rig.wave().m0() = 16;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (uint32_t l = 0; l < kLanes; l++) EXPECT_EQ(rig.memory[3 + l], 6 + l) << info(target).name;
  }
}

}  // namespace
}  // namespace morgana::device
