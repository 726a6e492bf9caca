// Memory instructions that only gfx950 or gfx10.3 to gfx12 have: tiles that are transposed on their way,
// blocks of registers, samples of multisampled images. Encodings by llvm-mc 22.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "device/testing/memory_rig.h"

namespace morgana::device {
namespace {

struct Rig : MemoryRig {
  Rig(Target target, std::string_view hex, WaveSize size = WaveSize::wave32)
      : MemoryRig(target, hex, {.wave_size = size, .group_bytes = 1024, .private_bytes = 256}) {
    set64(2, base());
  }
  // v[0:1] of lane l: what `offset` says, behind the memory's begin.
  template <class Offset>
  void address(Offset offset) {
    for (int l = 0; l < kLanes; l++) {
      const uint64_t at = base() + offset(uint32_t(l));
      v(0, l) = uint32_t(at), v(1, l) = uint32_t(at >> 32);
    }
  }
  uint16_t half(int n, int lane, uint32_t element) {
    return uint16_t(v(n + int(element / 2), lane) >> (16 * (element % 2)));
  }
  uint8_t byte(int n, int lane, uint32_t element) {
    return uint8_t(v(n + int(element / 4), lane) >> (8 * (element % 4)));
  }
};

constexpr const char* kLoadHalves = "7cc015ee08000000 00000000";  // global_load_tr_b128 v[8:11], v[0:1], off
constexpr const char* kLoadBytes = "7c0016ee08000000 00000000";   // global_load_tr_b64 v[8:9], v[0:1], off

// Measured on gfx1201 with B[r][c] = 16 r + c, lane l at element 8 l.
TEST(TransposedLoads, EightLanesTransposeHalves) {
  Rig rig(Target::gfx1200, kLoadHalves);
  auto* const b = reinterpret_cast<uint16_t*>(rig.memory.data());
  for (uint16_t i = 0; i < 256; i++) b[i] = i;
  rig.address([](uint32_t l) { return 16 * l; });
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (uint32_t l = 0; l < 32; l++)
    for (uint32_t j = 0; j < 8; j++)
      EXPECT_EQ(rig.half(8, int(l), j), 16 * (l / 8 * 4 + j / 2) + l % 8 + 8 * (j % 2)) << l << ' ' << j;
  EXPECT_EQ(rig.v(8, 32), 0xdead0008u);
}

// The addresses with which a column-major tile becomes an operand of WMMA: row l % 16 and eight of K.
TEST(TransposedLoads, TilesBecomeOperandsOfMatrixInstructions) {
  for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64}) {
    const bool is_wide = size == WaveSize::wave64;
    const uint32_t lanes = is_wide ? 64 : 32, elements = is_wide ? 4 : 8;
    Rig halves(Target::gfx1200, kLoadHalves, size), bytes(Target::gfx1200, kLoadBytes, size);
    auto* const a = reinterpret_cast<uint16_t*>(halves.memory.data());
    auto* const b = reinterpret_cast<uint8_t*>(bytes.memory.data());
    for (uint32_t k = 0; k < 16; k++)
      for (uint32_t row = 0; row < 16; row++) a[32 * k + row] = b[32 * k + row] = uint8_t(row << 4 | k);
    // Lanes beyond 31 address nothing.
    halves.address([](uint32_t l) {
      return l < 32 ? 2 * (32 * (8 * (l / 16) + l % 8) + 8 * (l / 8 % 2)) : ~uint64_t{0} >> 20;
    });
    bytes.address([](uint32_t l) {
      return l < 32 ? 32 * (4 * (l / 8) + l % 4) + 8 * (l / 4 % 2) : ~uint64_t{0} >> 20;
    });
    ASSERT_EQ(halves.run(), Exit::ended) << halves.fault().detail;
    ASSERT_EQ(bytes.run(), Exit::ended) << bytes.fault().detail;
    for (uint32_t l = 0; l < lanes; l++)
      for (uint32_t e = 0; e < elements; e++) {
        const uint32_t expected = l % 16 << 4 | (l / 16 * elements + e);
        EXPECT_EQ(halves.half(8, int(l), e), expected) << lanes << ' ' << l << ' ' << e;
        EXPECT_EQ(bytes.byte(8, int(l), e), expected) << lanes << ' ' << l << ' ' << e;
      }
    EXPECT_EQ(halves.v(is_wide ? 10 : 12, 0), is_wide ? 0xdead000au : 0xdead000cu);
    EXPECT_EQ(bytes.v(is_wide ? 9 : 10, 0), is_wide ? 0xdead0009u : 0xdead000au);
  }
}

TEST(TransposedLoads, NoLaneMeansNoAccessAndAWildOneIsNamed) {
  Rig none(Target::gfx1200, kLoadBytes);
  none.address([](uint32_t) { return ~uint64_t{0} >> 20; });
  none.wave().set_exec(0);
  ASSERT_EQ(none.run(), Exit::ended);
  EXPECT_EQ(none.v(8, 0), 0xdead0008u);
  Rig wild(Target::gfx1200, kLoadBytes);
  wild.address([](uint32_t l) { return 8 * l; });
  wild.v(0, 5) = 0x100, wild.v(1, 5) = 0;
  EXPECT_EQ(wild.run(), Exit::fault);
  EXPECT_EQ(wild.fault().kind, FaultKind::memory);
  EXPECT_EQ(wild.fault().address, 0x100u);
  EXPECT_EQ(wild.v(8, 0), 0xdead0008u);
}

// --- From LDS, on gfx950 ---

struct TransposedRead {
  const char* hex;
  uint32_t bits, dwords;
};
constexpr TransposedRead kReads[] = {
    {"4000c0d900000008" /* ds_read_b64_tr_b4 v[8:9], v0 offset:64 */, 4, 2},
    {"4000c2d900000008" /* ds_read_b96_tr_b6 v[8:10], v0 offset:64 */, 6, 3},
    {"4000c4d900000008" /* ds_read_b64_tr_b8 v[8:9], v0 offset:64 */, 8, 2},
    {"4000c6d900000008" /* ds_read_b64_tr_b16 v[8:9], v0 offset:64 */, 16, 2},
};

uint32_t bits_at(const uint8_t* bytes, uint32_t at, uint32_t count) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < count; i++) value |= (bytes[(at + i) / 8] >> ((at + i) % 8) & 1u) << i;
  return value;
}

// Sixteen lanes share a tile of 16 rows, of which each lane reads a part; lane m gets column m of all rows.
TEST(TransposedReads, SixteenLanesShareATile) {
  for (const TransposedRead& read : kReads) {
    Rig rig(Target::gfx950, read.hex, WaveSize::wave64);
    uint8_t* const lds = rig.group().lds;
    for (uint32_t i = 0; i < 1024; i++) lds[i] = uint8_t(i * 37 + i / 16 * 11);
    // Records in no order; two lie behind LDS.
    for (uint32_t l = 0; l < kLanes; l++) rig.v(0, int(l)) = l * 29 % kLanes * 4 * read.dwords;
    rig.v(0, 5) = 0xffff0000, rig.v(0, 40) = 0x40000;
    rig.wave().set_exec(~(uint64_t{1} << 17));
    ASSERT_EQ(rig.run(), Exit::ended) << read.hex;
    const uint32_t in_lane = read.dwords * 32 / read.bits, beside = 16 / in_lane;
    for (uint32_t l = 0; l < kLanes; l++) {
      uint8_t got[12], expected[12] = {};
      for (uint32_t d = 0; d < read.dwords; d++) {
        const uint32_t word = rig.v(8 + int(d), int(l));
        std::memcpy(got + 4 * d, &word, 4);
      }
      for (uint32_t row = 0; row < in_lane; row++) {
        const uint32_t source = l / 16 * 16 + row * beside + l % 16 / in_lane, column = l % 16 % in_lane;
        const bool is_outside = source == 5 || source == 40;
        const uint32_t value =
            is_outside ? 0 : bits_at(lds + rig.v(0, int(source)) + 64, column * read.bits, read.bits);
        for (uint32_t i = 0; i < read.bits; i++) {
          const uint32_t at = row * read.bits + i;
          expected[at / 8] = uint8_t(expected[at / 8] | (value >> i & 1) << (at % 8));
        }
      }
      if (l == 17)
        EXPECT_EQ(rig.v(8, 17), 0xdead0008u) << read.hex;
      else
        EXPECT_EQ(std::memcmp(got, expected, size_t{4} * read.dwords), 0) << read.hex << " lane " << l;
    }
  }
}

// --- Blocks ---

constexpr uint32_t kMask = 0x8000'0105;

TEST(BlocksOfRegisters, MoveWhatM0Names) {
  Rig load(Target::gfx1200, "02c014ee40000000 00040000");  // global_load_block v[64:95], v0, s[2:3] offset:4
  for (int n = 64; n < 96; n++) load.v(n, 0) = load.v(n, 31) = load.v(n, 32) = 7;
  for (int l = 0; l < 32; l++) load.v(0, l) = 128 * uint32_t(l);
  load.wave().m0() = kMask;
  ASSERT_EQ(load.run(), Exit::ended) << load.fault().detail;
  Rig store(Target::gfx1200,
            "020015ee00000020 00080000");  // global_store_block v0, v[64:95], s[2:3] offset:8
  for (int n = 64; n < 96; n++)
    for (int l = 0; l < 32; l++) store.v(n, l) = uint32_t(n) << 8 | uint32_t(l);
  for (int l = 0; l < 32; l++) store.v(0, l) = 128 * uint32_t(l);
  store.wave().set_exec(~uint32_t{2});
  store.wave().m0() = kMask;
  ASSERT_EQ(store.run(), Exit::ended) << store.fault().detail;
  for (uint32_t d = 0; d < 32; d++) {
    const bool moves = kMask >> d & 1;
    EXPECT_EQ(load.v(int(64 + d), 0), moves ? 0x1001 + d : 7) << d;
    EXPECT_EQ(load.v(int(64 + d), 31), moves ? 0x1001 + d + 32 * 31 : 7) << d;
    EXPECT_EQ(load.v(int(64 + d), 32), 7u);
    EXPECT_EQ(store.memory[2 + d + 32 * 3], moves ? (64 + d) << 8 | 3 : 0x1002 + d + 32 * 3) << d;
    if (d < 30) EXPECT_EQ(store.memory[2 + d + 32], 0x1022u + d) << d;  // lane 1 does not execute
  }
}

TEST(BlocksOfRegisters, MeetScratchByTheirDwords) {
  // scratch_store_block off, v[64:95], s1 offset:8; scratch_load_block v[96:127], v0, off offset:8;
  // scratch_load_b32 v8, off, s1 offset:40
  Rig rig(Target::gfx1200, "010015ed00000020 00080000 7cc014ed60000200 00080000 010005ed08000000 00280000");
  rig.s(1) = 4;
  for (int n = 64; n < 96; n++)
    for (int l = 0; l < 32; l++) rig.v(n, l) = uint32_t(n) << 8 | uint32_t(l), rig.v(n + 32, l) = 7;
  for (int l = 0; l < 32; l++) rig.v(0, l) = 4;
  rig.wave().m0() = kMask;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (int d = 0; d < 32; d++)
    for (int l : {0, 17, 31})
      EXPECT_EQ(rig.v(96 + d, l), kMask >> d & 1 ? uint32_t(64 + d) << 8 | uint32_t(l) : 7u) << d;
  EXPECT_EQ(rig.v(8, 5), 72u << 8 | 5);
  Rig beyond(Target::gfx1200, "010015ed00000020 00080000");
  beyond.s(1) = 256 - 8 - 4;  // one dword is inside
  beyond.wave().m0() = 1;
  EXPECT_EQ(beyond.run(), Exit::ended);
  beyond.restart();
  beyond.s(1) = 256 - 8 - 4;
  beyond.wave().m0() = 2;
  EXPECT_EQ(beyond.run(), Exit::fault);
  EXPECT_EQ(beyond.fault().kind, FaultKind::aperture);
}

// --- Images ---

// 4 by 2 texels of two dwords; gfx12 and gfx11 count formats anew.
struct ImageRig : WaveRig {
  ImageRig(Target target, std::string_view hex, uint32_t type, uint32_t last_level)
      : WaveRig(target, dwords_of_hex(hex)) {
    const Generation generation = info(target).generation;
    const bool gfx12 = generation >= Generation::gfx12;
    const auto base = reinterpret_cast<uint64_t>(texels);
    const uint32_t format = generation >= Generation::gfx11 ? 48 : 62;  // 32_32_UINT
    s(8) = uint32_t(base >> 8);
    s(9) = uint32_t(base >> 40) | format << (gfx12 ? 17 : 20) | 3u << 30;
    s(10) = 1u << 14 | (generation == Generation::gfx10 ? 1u << 31 : 0);
    s(11) = 4 | 5 << 3 | 6 << 6 | 7 << 9 | last_level << (gfx12 ? 15 : 16) | type << 28;
    s(12) = s(13) = s(14) = 0;
    s(15) = 4;  // texels of a row
    for (uint32_t i = 0; i < 64; i++) texels[i] = i;
    for (int n = 8; n < 16; n++) v(n, 0) = 0xdead;
    wave().set_exec(1);
  }
  void at(uint32_t x, uint32_t y, uint32_t sample) { v(0, 0) = x, v(1, 0) = y, v(2, 0) = sample; }
  alignas(256) uint32_t texels[64];
};

constexpr uint32_t kPlane = 9, kSamples = 14;
// Component c of sample n of texel (x, y) of the four samples' image.
uint32_t component(uint32_t x, uint32_t y, uint32_t n, uint32_t c) { return 2 * (4 * (2 * n + y) + x) + c; }

TEST(MultisampledImages, FourSamplesOfOneComponent) {
  struct {
    Target target;
    const char* hex;
    uint32_t shown;
  } cases[] = {
      // image_msaa_load v[10:13], v[0:2], s[8:15] dim:SQ_RSRC_IMG_2D_MSAA, with dmask 0xf and 0x2
      {Target::gfx1030, "311f00f0000a0200", 0},          // component x
      {Target::gfx1100, "980260f0000a0200", 1},          // component y
      {Target::gfx1200, "062086e40a100000 00010200", 1}  // component y
  };
  for (const auto& c : cases) {
    ImageRig rig(c.target, c.hex, kSamples, 2);
    rig.at(3, 1, 0);
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    for (uint32_t i = 0; i < 4; i++)
      EXPECT_EQ(rig.v(int(10 + i), 0), component(3, 1, i, c.shown)) << info(c.target).name << ' ' << i;
    EXPECT_EQ(rig.v(14, 0), 0xdeadu);
    // From the second one on: the image has four; outside it is 0.
    ImageRig later(c.target, c.hex, kSamples, 2);
    later.at(0, 0, 1);
    ASSERT_EQ(later.run(), Exit::ended);
    EXPECT_EQ(later.v(10, 0), component(0, 0, 1, c.shown));
    EXPECT_EQ(later.v(13, 0), 0u);
    ImageRig outside(c.target, c.hex, kSamples, 2);
    outside.at(4, 0, 0);
    ASSERT_EQ(outside.run(), Exit::ended);
    EXPECT_EQ(outside.v(10, 0) | outside.v(13, 0), 0u);
  }
}

TEST(MultisampledImages, Gfx1030PicksAmongTheSamples) {
  ImageRig rig(Target::gfx1030, "311a00f0000a0200", kSamples, 2);  // dmask:0xa
  rig.at(1, 0, 0);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.v(10, 0), component(1, 0, 1, 0));
  EXPECT_EQ(rig.v(11, 0), component(1, 0, 3, 0));
  EXPECT_EQ(rig.v(12, 0), 0xdeadu);
}

// Errata, "A16 and G16": gfx10 and later say of coordinates and of gradients each whether they are halves.
TEST(HalfAddresses, OfCoordinatesAndOfGradientsAreTwoThings) {
  const auto half = [](float f) { return uint32_t{std::bit_cast<uint16_t>(static_cast<_Float16>(f))}; };
  const auto single = [](float f) { return std::bit_cast<uint32_t>(f); };
  const uint32_t x = single(0.625f), y = single(0.75f), both = half(0.625f) | half(0.75f) << 16;
  const struct {
    const char* hex;
    std::vector<uint32_t> address;
  } cases[] = {{"080188f0000a8240", {0, 0, 0, 0, both}},  // A16
               {"090188f0000a8200", {0, 0, x, y}},        // G16
               {"090188f0000a8240", {0, 0, both}}};       // G16 and A16
  for (const auto& c : cases) {
    ImageRig rig(Target::gfx1010, c.hex, kPlane, 0);
    const uint32_t sampler[] = {2 | 2 << 3 | 2 << 6, 0xfffu << 12, 0, 0};  // last texel, nearest
    for (int i = 0; i < 4; i++) rig.s(16 + i) = sampler[i];
    for (size_t i = 0; i < c.address.size(); i++) rig.v(int(i), 0) = c.address[i];
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(10, 0), component(2, 1, 0, 0)) << c.hex;
  }
}

}  // namespace
}  // namespace morgana::device
