// Image instructions on linear images of every generation: the order of the address registers in every
// sampler variant, descriptor fields, formats, addressing modes. Expected values follow from the images'
// contents, which name their texels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }
float number(uint32_t u) { return std::bit_cast<float>(u); }

enum Type {
  kLine = 8,
  kPlane = 9,
  kVolume = 10,
  kCube = 11,
  kLineArray = 12,
  kPlaneArray = 13,
  kSamples = 14
};
enum Data { k8 = 1, k16 = 2, k32 = 4, k8888 = 10, k32_32 = 11, k32x4 = 14, k565 = 16, k9995 = 34, kBc1 = 35 };
enum Numeric { kUnorm = 0, kSnorm = 1, kUint = 4, kSint = 5, kFloat = 7, kSrgb = 9 };

struct Spec {
  int type = kPlane, data = k32x4, numeric = kFloat;
  uint32_t width = 4, height = 4, depth = 1, pitch = 4, levels = 1, base_level = 0;
  uint32_t tiling = ~0u;  // what is linear on the target
  uint32_t select = 4 | 5 << 3 | 6 << 6 | 7 << 9;
};

struct Descriptor {
  uint32_t word[8];
};

// T# by the field positions of ROCR-Runtime's resource_kv.h and resource_ai.h.
Descriptor describe(Target target, const void* data, const Spec& s) {
  const bool gfx9 = info(target).generation >= Generation::gfx9;
  const auto address = reinterpret_cast<uint64_t>(data);
  EXPECT_EQ(address % 256, 0u);
  const uint32_t last_level = s.base_level + s.levels - 1, layers = s.depth - 1;
  const bool is_volume = s.type == kVolume,
             is_array = s.type == kLineArray || s.type == kPlaneArray || s.type == kCube;
  const uint32_t tiling = s.tiling != ~0u ? s.tiling : gfx9 ? 0 : 8;
  Descriptor d{};
  d.word[0] = static_cast<uint32_t>(address >> 8);
  d.word[1] = static_cast<uint32_t>(address >> 40 & 0xff) | static_cast<uint32_t>(s.data) << 20 |
              static_cast<uint32_t>(s.numeric) << 26;
  d.word[2] = (s.width - 1) | (s.height - 1) << 14;
  d.word[3] =
      s.select | s.base_level << 12 | last_level << 16 | tiling << 20 | static_cast<uint32_t>(s.type) << 28;
  d.word[4] = (is_volume || is_array ? layers : 0) | (s.pitch - 1) << 13;
  if (gfx9)
    d.word[5] = last_level << 28;
  else if (is_array)
    d.word[5] = layers << 13;
  return d;
}

struct Filter {
  int clamp = 2;  // last texel
  int xy = 0, mip = 1, compare = 1, border = 0;
  bool unnormalized = false;
};
std::array<uint32_t, 4> sampler(const Filter& f) {
  const auto c = static_cast<uint32_t>(f.clamp), xy = static_cast<uint32_t>(f.xy);
  return {c | c << 3 | c << 6 | static_cast<uint32_t>(f.compare) << 12 | (f.unnormalized ? 1u << 15 : 0),
          0xfffu << 12, xy << 20 | xy << 22 | static_cast<uint32_t>(f.mip) << 26,
          static_cast<uint32_t>(f.border) << 30};
}

class Images : public testing::TestWithParam<Target> {
 protected:
  bool gfx9() const { return info(GetParam()).generation >= Generation::gfx9; }

  // Runs one instruction on lane 0 with `address` in v0 and up; T# in s[8:15], S# in s[16:19], data in
  // v[20:24].
  Exit run(const char* hex, std::vector<uint32_t> address, const Descriptor& image,
           const Filter& filter = {}) {
    rig_ = std::make_unique<WaveRig>(GetParam(), dwords_of_hex(hex));
    for (int i = 0; i < 8; i++) rig_->s(8 + i) = image.word[i];
    const auto s = sampler(filter);
    for (int i = 0; i < 4; i++) rig_->s(16 + i) = s[static_cast<size_t>(i)];
    for (int lane = 0; lane < kLanes; lane++) {
      for (size_t i = 0; i < address.size(); i++) rig_->v(static_cast<int>(i), lane) = address[i];
      for (int i = 0; i < 5; i++) rig_->v(20 + i, lane) = data_[i];
    }
    rig_->wave().set_exec(1);
    return rig_->run();
  }
  uint32_t v(int n) { return rig_->v(n, 0); }
  float f(int n) { return number(v(n)); }

  alignas(256) uint8_t memory_[1 << 16] = {};
  uint32_t data_[5] = {0xdead0000, 0xdead0001, 0xdead0002, 0xdead0003, 0xdead0004};
  std::unique_ptr<WaveRig> rig_;

  // A texel of four floats: its own number first.
  void put(uint64_t texel, float value) {
    const float four[4] = {value, value + 0.25f, value + 0.5f, value + 0.75f};
    std::memcpy(memory_ + texel * 16, four, 16);
  }
  // 4 by 4 texels that hold x + 10 * y, and a second level that adds 1000. Where that lies: gfx6 to gfx8 pad
  // a level to a multiple of 64 texels and its rows to eight; on gfx9 its rows follow, as long as the first
  // level's.
  Descriptor two_levels() {
    for (uint32_t y = 0; y < 4; y++)
      for (uint32_t x = 0; x < 4; x++) put(y * 4 + x, static_cast<float>(x + 10 * y));
    for (uint32_t y = 0; y < 2; y++)
      for (uint32_t x = 0; x < 2; x++)
        put(gfx9() ? 16 + y * 4 + x : 64 + y * 8 + x, static_cast<float>(1000 + x + 10 * y));
    Spec spec;
    spec.levels = 2;
    return describe(GetParam(), memory_, spec);
  }
};
// Targets with 16-bit data, with all samplers (gfx90a has image_sample alone), and with image_gather4h.
class HalfImages : public Images {};
class SampledImages : public Images {};
class RowGathers : public Images {};

std::string target_name(const testing::TestParamInfo<Target>& instance) {
  return std::string(morgana::info(instance.param).name);
}
INSTANTIATE_TEST_SUITE_P(Targets, Images,
                         testing::Values(Target::gfx600, Target::gfx701, Target::gfx803, Target::gfx900,
                                         Target::gfx906, Target::gfx908, Target::gfx90a),
                         target_name);
INSTANTIATE_TEST_SUITE_P(Targets, HalfImages,
                         testing::Values(Target::gfx803, Target::gfx900, Target::gfx906, Target::gfx908,
                                         Target::gfx90a),
                         target_name);
INSTANTIATE_TEST_SUITE_P(Targets, SampledImages,
                         testing::Values(Target::gfx600, Target::gfx701, Target::gfx803, Target::gfx900,
                                         Target::gfx906, Target::gfx908),
                         target_name);
INSTANTIATE_TEST_SUITE_P(Targets, RowGathers, testing::Values(Target::gfx900, Target::gfx906, Target::gfx908),
                         target_name);

constexpr const char* kLoad = "001f00f000140200";  // image_load v[20:23], v[0:1], s[8:15] dmask:0xf unorm
constexpr const char* kLoadMip =
    "001f04f000140200";  // image_load_mip v[20:23], v[0:2], s[8:15] dmask:0xf unorm
constexpr const char* kLoadArray = "005100f000140200";  // image_load v20, v[0:2], s[8:15] dmask:0x1 unorm da
constexpr const char* kStore = "001f20f000140200";
constexpr const char* kStoreMip = "001f24f000140200";
constexpr const char* kSample =
    "000f80f000148200";  // image_sample v[20:23], v[0:1], s[8:15], s[16:19] dmask:0xf

TEST_P(Images, LoadsAndStoresTexelsOfEveryLevel) {
  const Descriptor image = two_levels();
  ASSERT_EQ(run(kLoad, {2, 1}, image), Exit::ended) << rig_->fault().detail;
  EXPECT_EQ(f(20), 12);
  EXPECT_EQ(f(23), 12.75f);
  ASSERT_EQ(run(kLoadMip, {1, 1, 1}, image), Exit::ended);
  EXPECT_EQ(f(20), 1011);
  for (int i = 0; i < 4; i++) data_[i] = bits(static_cast<float>(7 + i));
  ASSERT_EQ(run(kStoreMip, {0, 1, 1}, image), Exit::ended);
  ASSERT_EQ(run(kLoadMip, {0, 1, 1}, image), Exit::ended);
  EXPECT_EQ(f(22), 9);
  ASSERT_EQ(run(kStore, {3, 3}, image), Exit::ended);
  float stored[4];
  std::memcpy(stored, memory_ + 15 * 16, 16);
  EXPECT_EQ(stored[3], 10);
}

TEST_P(Images, OutsideReadsZeroAndStoresNothing) {
  const Descriptor image = two_levels();
  const std::vector<uint8_t> before(memory_, memory_ + sizeof memory_);
  for (const std::vector<uint32_t>& at : {std::vector<uint32_t>{4, 0}, {0, 4}, {~0u, 0}}) {
    ASSERT_EQ(run(kLoad, at, image), Exit::ended);
    EXPECT_EQ(v(20) | v(21) | v(22) | v(23), 0u);
    ASSERT_EQ(run(kStore, at, image), Exit::ended);
  }
  ASSERT_EQ(run(kLoadMip, {0, 0, 2}, image), Exit::ended);
  EXPECT_EQ(v(20), 0u);
  EXPECT_EQ(std::memcmp(before.data(), memory_, before.size()), 0);
}

TEST_P(Images, InactiveLanesAndNoLaneAtAll) {
  const Descriptor image = two_levels();
  ASSERT_EQ(run(kLoad, {1, 0}, image), Exit::ended);
  EXPECT_EQ(rig_->v(20, 1), data_[0]);
  EXPECT_EQ(rig_->v(20, 63), data_[0]);
}

TEST_P(Images, ArraysVolumesCubesAndLines) {
  Spec spec;
  spec.depth = 6;
  // A slice is four rows of four texels; gfx6 to gfx8 pad it to 64 texels.
  const uint64_t slice = gfx9() ? 16 : 64;
  for (uint64_t z = 0; z < 6; z++)
    for (uint64_t i = 0; i < 16; i++) put(z * slice + i, static_cast<float>(100 * z + i));
  for (const int type : {kPlaneArray, kVolume, kCube}) {
    spec.type = type;
    ASSERT_EQ(run(kLoadArray, {3, 1, 2}, describe(GetParam(), memory_, spec)), Exit::ended);
    EXPECT_EQ(f(20), 207) << type;
    ASSERT_EQ(run(kLoadArray, {3, 1, 6}, describe(GetParam(), memory_, spec)), Exit::ended);
    EXPECT_EQ(v(20), 0u) << type;
  }
  spec.type = kLine;
  ASSERT_EQ(run(kLoad, {3}, describe(GetParam(), memory_, spec)), Exit::ended);
  EXPECT_EQ(f(20), 3);
  // A line array has rows of one texel's height.
  spec.type = kLineArray;
  const uint64_t line = gfx9() ? 4 : 64;
  put(2 * line + 1, 77);
  ASSERT_EQ(run(kLoad, {1, 2}, describe(GetParam(), memory_, spec)), Exit::ended);
  EXPECT_EQ(f(20), 77);
}

TEST_P(Images, FormatsConvertBothWays) {
  Spec spec;
  spec.data = k8888;
  memory_[4] = 0, memory_[5] = 255, memory_[6] = 128, memory_[7] = 51;
  ASSERT_EQ(run(kLoad, {1, 0}, describe(GetParam(), memory_, spec = {.data = k8888, .numeric = kUnorm})),
            Exit::ended);
  EXPECT_EQ(f(20), 0);
  EXPECT_EQ(f(21), 1);
  EXPECT_FLOAT_EQ(f(22), 128 / 255.0f);
  EXPECT_FLOAT_EQ(f(23), 0.2f);
  ASSERT_EQ(run(kLoad, {1, 0}, describe(GetParam(), memory_, {.data = k8888, .numeric = kSnorm})),
            Exit::ended);
  EXPECT_EQ(f(22), -1);  // -128 is clamped
  ASSERT_EQ(run(kLoad, {1, 0}, describe(GetParam(), memory_, {.data = k8888, .numeric = kUint})),
            Exit::ended);
  EXPECT_EQ(v(22), 128u);
  ASSERT_EQ(run(kLoad, {1, 0}, describe(GetParam(), memory_, {.data = k8888, .numeric = kSint})),
            Exit::ended);
  EXPECT_EQ(v(22), ~127u);
  ASSERT_EQ(run(kLoad, {1, 0}, describe(GetParam(), memory_, {.data = k8888, .numeric = kSrgb})),
            Exit::ended);
  EXPECT_EQ(f(21), 1);
  EXPECT_NEAR(f(22), 0.2158605f, 1e-6);  // IEC 61966-2-1
  EXPECT_FLOAT_EQ(f(23), 0.2f);          // alpha is linear
  for (int i = 0; i < 4; i++) data_[i] = bits(0.2158605f);
  ASSERT_EQ(run(kStore, {2, 0}, describe(GetParam(), memory_, {.data = k8888, .numeric = kSrgb})),
            Exit::ended);
  EXPECT_EQ(memory_[8], 128);
  EXPECT_EQ(memory_[11], 55);
  data_[0] = bits(1), data_[1] = bits(0.5f), data_[2] = bits(0);
  ASSERT_EQ(run(kStore, {3, 0}, describe(GetParam(), memory_, {.data = k565, .numeric = kUnorm})),
            Exit::ended);
  EXPECT_EQ(memory_[6] | memory_[7] << 8, 31 | 32 << 5);
  data_[0] = bits(1), data_[1] = bits(0.5f), data_[2] = bits(65408);
  ASSERT_EQ(run(kStore, {0, 1}, describe(GetParam(), memory_, {.data = k9995, .numeric = kFloat})),
            Exit::ended);
  ASSERT_EQ(run(kLoad, {0, 1}, describe(GetParam(), memory_, {.data = k9995, .numeric = kFloat})),
            Exit::ended);
  EXPECT_EQ(f(22), 65408);
  EXPECT_EQ(f(20), 0);  // half of the least step, to even
}

// Components by the names of the formats, which list the last one first. Depth and stencil have a numeric
// format each; the float of X24_8_32 is exact as it is.
TEST_P(Images, PackedFormatsHoldTheirComponents) {
  struct Packed {
    int data;
    std::vector<int> bits;  // of x, y, z, w
    uint32_t bytes = 2;
    bool has_stencil = false;
  };
  const std::vector<Packed> all = {{16, {5, 6, 5}},        {17, {5, 5, 5, 1}},     {18, {1, 5, 5, 5}},
                                   {19, {4, 4, 4, 4}},     {20, {24, 8}, 4, true}, {21, {8, 24}, 4, true},
                                   {22, {32, 8}, 8, true}, {57, {4, 4}, 1},        {58, {5, 5, 6}}};
  for (const Packed& format : all)
    for (const int numeric : {static_cast<int>(kUnorm), static_cast<int>(kUint)}) {
      SCOPED_TRACE("data format " + std::to_string(format.data) + ", numeric " + std::to_string(numeric));
      if (format.data == 22 && numeric == kUnorm) continue;
      const uint64_t raw = 0x5e3f2d96'4b87c3a5;
      std::memset(memory_, 0, 64);
      std::memcpy(memory_ + format.bytes, &raw, format.bytes);
      const Descriptor image =
          describe(GetParam(), memory_, {.data = format.data, .numeric = numeric, .pitch = 64});
      ASSERT_EQ(run(kLoad, {1, 0}, image), Exit::ended) << rig_->fault().detail;
      uint64_t used = 0;
      int at = 0;
      for (size_t c = 0; c < format.bits.size(); c++) {
        const uint64_t ones = (uint64_t{1} << format.bits[c]) - 1, value = raw >> at & ones;
        used |= ones << at;
        at += format.bits[c];
        if (numeric == kUint || (format.has_stencil && c == 1))
          EXPECT_EQ(v(20 + static_cast<int>(c)), value) << c;
        else
          EXPECT_EQ(f(20 + static_cast<int>(c)),
                    static_cast<float>(static_cast<double>(value) / static_cast<double>(ones)))
              << c;
        data_[c] = v(20 + static_cast<int>(c));
      }
      ASSERT_EQ(run(kStore, {2, 0}, image), Exit::ended) << rig_->fault().detail;
      uint64_t stored = 0;
      std::memcpy(&stored, memory_ + 2 * format.bytes, format.bytes);
      EXPECT_EQ(stored, raw & used);
    }
}

TEST_P(Images, NumericFormatsOfBytes) {
  struct Numbers {
    int numeric;
    float low, high;   // what 0x80 and 0x7f mean
    float beyond;      // a value too large,
    uint8_t greatest;  // and what is stored for it
  };
  for (const Numbers& n : {Numbers{2, 128, 127, 1000, 255}, Numbers{3, -128, 127, 1000, 127},
                           Numbers{6, -1, 1, 2, 127}, Numbers{kSnorm, -1, 1, 2, 127}}) {
    SCOPED_TRACE(n.numeric);
    memory_[4] = 0x80, memory_[5] = 0x7f;
    const Descriptor image = describe(GetParam(), memory_, {.data = k8888, .numeric = n.numeric});
    ASSERT_EQ(run(kLoad, {1, 0}, image), Exit::ended) << rig_->fault().detail;
    EXPECT_EQ(f(20), n.low);
    EXPECT_EQ(f(21), n.high);
    data_[0] = bits(n.beyond), data_[1] = bits(n.high);
    ASSERT_EQ(run(kStore, {2, 0}, image), Exit::ended) << rig_->fault().detail;
    EXPECT_EQ(memory_[8], n.greatest);
    EXPECT_EQ(memory_[9], 0x7f);
  }
}

TEST_P(Images, SelectsOrderComponentsAndGiveConstants) {
  memory_[0] = 10, memory_[1] = 20, memory_[2] = 30, memory_[3] = 40;
  Spec spec{.data = k8888, .numeric = kUint};
  spec.select = 6 | 5 << 3 | 4 << 6 | 1 << 9;  // BGR1
  ASSERT_EQ(run(kLoad, {0, 0}, describe(GetParam(), memory_, spec)), Exit::ended);
  EXPECT_EQ(v(20), 30u);
  EXPECT_EQ(v(22), 10u);
  EXPECT_EQ(v(23), 1u);
  for (int i = 0; i < 4; i++) data_[i] = static_cast<uint32_t>(i + 1);
  ASSERT_EQ(run(kStore, {0, 0}, describe(GetParam(), memory_, spec)), Exit::ended);
  EXPECT_EQ(memory_[0], 3);
  EXPECT_EQ(memory_[2], 1);
}

TEST_P(Images, DmaskPicksChannelsAndTfeAddsAStatus) {
  const Descriptor image = two_levels();
  ASSERT_EQ(run("001500f000140200", {2, 1}, image),
            Exit::ended);  // image_load v[20:21], v[0:1], s[8:15] dmask:0x5 unorm
  EXPECT_EQ(f(20), 12);
  EXPECT_EQ(f(21), 12.5f);
  EXPECT_EQ(v(22), data_[2]);
  if (info(GetParam()).unified_vgprs) return;
  ASSERT_EQ(run("001f01f000140200", {2, 1}, image), Exit::ended);  // dmask:0xf tfe
  EXPECT_EQ(f(23), 12.75f);
  EXPECT_EQ(v(24), 0u);
}

TEST_P(HalfImages, ArePackedButOnGfx803) {
  const Descriptor image = two_levels();
  ASSERT_EQ(run("001f00f000140280", {2, 1}, image),
            Exit::ended);  // image_load v[20:21], v0, s[8:15] dmask:0xf unorm d16
  const uint32_t twelve = 0x4a00, and_a_quarter = 0x4a20;
  if (GetParam() == Target::gfx803) {
    EXPECT_EQ(v(20), twelve);
    EXPECT_EQ(v(21), and_a_quarter);
  } else {
    EXPECT_EQ(v(20), twelve | and_a_quarter << 16);
    EXPECT_EQ(v(22), data_[2]);
  }
  if (!gfx9()) return;
  ASSERT_EQ(run("009f00f000140200", {2 | 1 << 16}, image), Exit::ended);  // a16
  EXPECT_EQ(f(20), 12);
}

TEST_P(Images, RawTexels) {
  memory_[1] = 0x85;
  const Descriptor bytes = describe(GetParam(), memory_, {.data = k8, .numeric = kUnorm});
  ASSERT_EQ(run("001108f000140200", {1, 0}, bytes), Exit::ended);  // image_load_pck
  EXPECT_EQ(v(20), 0x85u);
  ASSERT_EQ(run("00110cf000140200", {1, 0}, bytes), Exit::ended);  // image_load_pck_sgn
  EXPECT_EQ(v(20), 0xffffff85u);
  ASSERT_EQ(run("001110f000140200", {1, 0, 0}, bytes), Exit::ended);  // image_load_mip_pck
  EXPECT_EQ(v(20), 0x85u);
  ASSERT_EQ(run("001114f000140200", {1, 0, 0}, bytes), Exit::ended);  // image_load_mip_pck_sgn
  EXPECT_EQ(v(20), 0xffffff85u);
  data_[0] = 0x12345678;
  ASSERT_EQ(run("001128f000140200", {2, 0}, bytes), Exit::ended);  // image_store_pck
  ASSERT_EQ(run("00112cf000140200", {3, 0, 0}, bytes), Exit::ended);
  EXPECT_EQ(memory_[2], 0x78);
  EXPECT_EQ(memory_[3], 0x78);
  EXPECT_EQ(memory_[4], 0);
}

TEST_P(Images, ResourceQueries) {
  Spec spec{.type = kPlaneArray, .width = 9, .height = 6, .depth = 3, .pitch = 16, .levels = 3};
  ASSERT_EQ(run("000f38f000140200", {1}, describe(GetParam(), memory_, spec)),
            Exit::ended);  // image_get_resinfo
  EXPECT_EQ(v(20), 4u);
  EXPECT_EQ(v(21), 3u);
  EXPECT_EQ(v(22), 3u);
  EXPECT_EQ(v(23), 3u);
  ASSERT_EQ(run("000f38f000140200", {3}, describe(GetParam(), memory_, spec)), Exit::ended);
  EXPECT_EQ(v(20) | v(21) | v(22), 0u);
}

struct AtomicCase {
  const char* old_hex;  // gfx6, gfx7
  const char* hex;      // from gfx8; null: gone
  uint32_t memory, data, data2, result;
};
TEST_P(Images, Atomics) {
  const AtomicCase cases[] = {
      {"00313cf000140200", "003140f000140200", 5, 9, 0, 9},            // swap
      {"003144f000140200", "003148f000140200", 5, 9, 0, 14},           // add
      {"003148f000140200", "00314cf000140200", 5, 9, 0, ~3u},          // sub
      {"00314cf000140200", nullptr, 5, 9, 0, 4},                       // rsub
      {"003150f000140200", "003150f000140200", ~0u, 9, 0, ~0u},        // smin
      {"003154f000140200", "003154f000140200", ~0u, 9, 0, 9},          // umin
      {"003158f000140200", "003158f000140200", ~0u, 9, 0, 9},          // smax
      {"00315cf000140200", "00315cf000140200", ~0u, 9, 0, ~0u},        // umax
      {"003160f000140200", "003160f000140200", 12, 10, 0, 8},          // and
      {"003164f000140200", "003164f000140200", 12, 10, 0, 14},         // or
      {"003168f000140200", "003168f000140200", 12, 10, 0, 6},          // xor
      {"00316cf000140200", "00316cf000140200", 9, 9, 0, 0},            // inc
      {"003170f000140200", "003170f000140200", 0, 9, 0, 9},            // dec
      {"003178f000140200", nullptr, bits(2), bits(-1), 0, bits(-1)},   // fmin
      {"00317cf000140200", nullptr, bits(2), bits(-1), 0, bits(2)},    // fmax
      {"003340f000140200", "003344f000140200", 5, 9, 5, 9},            // cmpswap
      {"003340f000140200", "003344f000140200", 5, 9, 6, 5},            // cmpswap, not equal
      {"003374f000140200", nullptr, 0x80000000, bits(3), 0, bits(3)},  // fcmpswap: -0 equals 0
  };
  const bool old = info(GetParam()).generation <= Generation::gfx7;
  const Descriptor image = describe(GetParam(), memory_, {.data = k32, .numeric = kUint});
  for (const AtomicCase& c : cases) {
    const char* const hex = old ? c.old_hex : c.hex;
    if (hex == nullptr) continue;
    std::memcpy(memory_ + 20, &c.memory, 4);
    data_[0] = c.data, data_[1] = c.data2;
    ASSERT_EQ(run(hex, {1, 1}, image), Exit::ended) << hex << rig_->fault().detail;
    EXPECT_EQ(v(20), c.memory) << hex;
    uint32_t after;
    std::memcpy(&after, memory_ + 20, 4);
    EXPECT_EQ(after, c.result) << hex;
  }
  const Descriptor wide = describe(GetParam(), memory_, {.data = k32_32, .numeric = kUint});
  const uint64_t before = 0xffff'ffff;
  std::memcpy(memory_ + 40, &before, 8);
  data_[0] = 1, data_[1] = 2;
  ASSERT_EQ(run(old ? "003344f000140200" : "003348f000140200", {1, 1}, wide), Exit::ended);  // add, dmask:0x3
  uint64_t after;
  std::memcpy(&after, memory_ + 40, 8);
  EXPECT_EQ(after, 0x3'0000'0000u);
  data_[2] = 0, data_[3] = 3;
  ASSERT_EQ(run(old ? "003f40f000140200" : "003f44f000140200", {1, 1}, wide),
            Exit::ended);  // cmpswap, dmask:0xf
  std::memcpy(&after, memory_ + 40, 8);
  EXPECT_EQ(after, 0x2'0000'0001u);
  // The size of the texels must be that of the data.
  EXPECT_EQ(run(old ? "003344f000140200" : "003348f000140200", {1, 1}, image), Exit::fault);
}

// --- Samplers ---

enum Variant : uint32_t {
  kOffsets = 1,
  kBias = 2,
  kCompare = 4,
  kGradients = 8,
  kLod = 16,
  kClamp = 32,
  kLodZero = 64,
  kGather = 128,
};
struct SampleCase {
  const char* name;
  const char* hex;  // v20 or v[20:23], v[0:...], s[8:15], s[16:19] dmask:0x1; the same on every target
  uint32_t variant;
};
constexpr SampleCase kSamplers[] = {
    {"image_sample", "000180f000148200", 0},
    {"image_sample_o", "0001c0f000148200", kOffsets},
    {"image_sample_cl", "000184f000148200", kClamp},
    {"image_sample_cl_o", "0001c4f000148200", kOffsets | kClamp},
    {"image_sample_d", "000188f000148200", kGradients},
    {"image_sample_d_o", "0001c8f000148200", kOffsets | kGradients},
    {"image_sample_d_cl", "00018cf000148200", kGradients | kClamp},
    {"image_sample_d_cl_o", "0001ccf000148200", kOffsets | kGradients | kClamp},
    {"image_sample_l", "000190f000148200", kLod},
    {"image_sample_l_o", "0001d0f000148200", kOffsets | kLod},
    {"image_sample_b", "000194f000148200", kBias},
    {"image_sample_b_o", "0001d4f000148200", kOffsets | kBias},
    {"image_sample_b_cl", "000198f000148200", kBias | kClamp},
    {"image_sample_b_cl_o", "0001d8f000148200", kOffsets | kBias | kClamp},
    {"image_sample_lz", "00019cf000148200", kLodZero},
    {"image_sample_lz_o", "0001dcf000148200", kOffsets | kLodZero},
    {"image_sample_cd", "0001a0f100148200", kGradients},
    {"image_sample_cd_o", "0001b0f100148200", kOffsets | kGradients},
    {"image_sample_cd_cl", "0001a4f100148200", kGradients | kClamp},
    {"image_sample_cd_cl_o", "0001b4f100148200", kOffsets | kGradients | kClamp},
    {"image_sample_c", "0001a0f000148200", kCompare},
    {"image_sample_c_o", "0001e0f000148200", kOffsets | kCompare},
    {"image_sample_c_cl", "0001a4f000148200", kCompare | kClamp},
    {"image_sample_c_cl_o", "0001e4f000148200", kOffsets | kCompare | kClamp},
    {"image_sample_c_d", "0001a8f000148200", kCompare | kGradients},
    {"image_sample_c_d_o", "0001e8f000148200", kOffsets | kCompare | kGradients},
    {"image_sample_c_d_cl", "0001acf000148200", kCompare | kGradients | kClamp},
    {"image_sample_c_d_cl_o", "0001ecf000148200", kOffsets | kCompare | kGradients | kClamp},
    {"image_sample_c_l", "0001b0f000148200", kCompare | kLod},
    {"image_sample_c_l_o", "0001f0f000148200", kOffsets | kCompare | kLod},
    {"image_sample_c_b", "0001b4f000148200", kCompare | kBias},
    {"image_sample_c_b_o", "0001f4f000148200", kOffsets | kCompare | kBias},
    {"image_sample_c_b_cl", "0001b8f000148200", kCompare | kBias | kClamp},
    {"image_sample_c_b_cl_o", "0001f8f000148200", kOffsets | kCompare | kBias | kClamp},
    {"image_sample_c_lz", "0001bcf000148200", kCompare | kLodZero},
    {"image_sample_c_lz_o", "0001fcf000148200", kOffsets | kCompare | kLodZero},
    {"image_sample_c_cd", "0001a8f100148200", kCompare | kGradients},
    {"image_sample_c_cd_o", "0001b8f100148200", kOffsets | kCompare | kGradients},
    {"image_sample_c_cd_cl", "0001acf100148200", kCompare | kGradients | kClamp},
    {"image_sample_c_cd_cl_o", "0001bcf100148200", kOffsets | kCompare | kGradients | kClamp},
    {"image_gather4", "000100f100148200", kGather},
    {"image_gather4_o", "000140f100148200", kOffsets | kGather},
    {"image_gather4_cl", "000104f100148200", kClamp | kGather},
    {"image_gather4_cl_o", "000144f100148200", kOffsets | kClamp | kGather},
    {"image_gather4_l", "000110f100148200", kLod | kGather},
    {"image_gather4_l_o", "000150f100148200", kOffsets | kLod | kGather},
    {"image_gather4_b", "000114f100148200", kBias | kGather},
    {"image_gather4_b_o", "000154f100148200", kOffsets | kBias | kGather},
    {"image_gather4_b_cl", "000118f100148200", kBias | kClamp | kGather},
    {"image_gather4_b_cl_o", "000158f100148200", kOffsets | kBias | kClamp | kGather},
    {"image_gather4_lz", "00011cf100148200", kLodZero | kGather},
    {"image_gather4_lz_o", "00015cf100148200", kOffsets | kLodZero | kGather},
    {"image_gather4_c", "000120f100148200", kCompare | kGather},
    {"image_gather4_c_o", "000160f100148200", kOffsets | kCompare | kGather},
    {"image_gather4_c_cl", "000124f100148200", kCompare | kClamp | kGather},
    {"image_gather4_c_cl_o", "000164f100148200", kOffsets | kCompare | kClamp | kGather},
    {"image_gather4_c_l", "000130f100148200", kCompare | kLod | kGather},
    {"image_gather4_c_l_o", "000170f100148200", kOffsets | kCompare | kLod | kGather},
    {"image_gather4_c_b", "000134f100148200", kCompare | kBias | kGather},
    {"image_gather4_c_b_o", "000174f100148200", kOffsets | kCompare | kBias | kGather},
    {"image_gather4_c_b_cl", "000138f100148200", kCompare | kBias | kClamp | kGather},
    {"image_gather4_c_b_cl_o", "000178f100148200", kOffsets | kCompare | kBias | kClamp | kGather},
    {"image_gather4_c_lz", "00013cf100148200", kCompare | kLodZero | kGather},
    {"image_gather4_c_lz_o", "00017cf100148200", kOffsets | kCompare | kLodZero | kGather},
};

TEST_P(SampledImages, EverySamplerVariantTakesItsAddressesInOrder) {
  const Descriptor image = two_levels();
  for (const SampleCase& c : kSamplers) {
    const bool second_level = c.variant & (kGradients | kLod | kClamp);
    std::vector<uint32_t> address;
    if (c.variant & kOffsets) address.push_back(0x3f00 | 1);  // one to the right, one up
    if (c.variant & kBias) address.push_back(bits(-3));
    const float reference = second_level ? 1000.5f : 12.5f;
    if (c.variant & kCompare) address.push_back(bits(reference));
    if (c.variant & kGradients)
      for (const float g : {0.5f, 0.0f, 0.0f, 0.25f}) address.push_back(bits(g));
    address.push_back(bits(0.625f));
    address.push_back(bits(0.375f));
    if (c.variant & (kLod | kClamp)) address.push_back(bits(1));
    ASSERT_EQ(run(c.hex, address, image), Exit::ended) << c.name << rig_->fault().detail;
    // The texel of a point sample, and the four of a gather: from (2, 1), or (0, 0) of the second level.
    const int size = second_level ? 2 : 4;
    const auto texel = [&](int x, int y) {
      if (c.variant & kOffsets) x++, y--;
      x = std::clamp(x, 0, size - 1), y = std::clamp(y, 0, size - 1);
      const auto value = static_cast<float>(x + 10 * y + (second_level ? 1000 : 0));
      return c.variant & kCompare ? (reference < value ? 1.0f : 0.0f) : value;
    };
    if (c.variant & kGather) {
      const int x = second_level ? 0 : 2, y = second_level ? 0 : 1;
      EXPECT_EQ(f(20), texel(x, y + 1)) << c.name;
      EXPECT_EQ(f(21), texel(x + 1, y + 1)) << c.name;
      EXPECT_EQ(f(22), texel(x + 1, y)) << c.name;
      EXPECT_EQ(f(23), texel(x, y)) << c.name;
    } else {
      EXPECT_EQ(f(20), second_level ? texel(1, 0) : texel(2, 1)) << c.name;
      EXPECT_EQ(v(21), data_[1]) << c.name;
    }
  }
}

// DEPTH_COMPARE_FUNC: never, less, equal, less or equal, greater, not equal, greater or equal, always.
TEST_P(SampledImages, CompareFunctions) {
  const Descriptor image = two_levels();  // the texel in the first row's second place is 1
  constexpr const char* kExpected[] = {"000", "100", "010", "110", "001", "101", "011", "111"};
  for (int function = 0; function < 8; function++)
    for (size_t i = 0; i < 3; i++) {
      const float reference = static_cast<float>(i);  // less than, equal to, greater than the texel
      ASSERT_EQ(run("0001a0f000148200", {bits(reference), bits(0.375f), bits(0.125f)}, image,
                    {.compare = function}),
                Exit::ended);
      EXPECT_EQ(f(20), static_cast<float>(kExpected[function][i] - '0')) << function << ' ' << reference;
    }
}

TEST_P(Images, LinearFilterMixesFourTexels) {
  const Descriptor image = two_levels();
  ASSERT_EQ(run(kSample, {bits(0.5f), bits(0.5625f)}, image, {.xy = 1}), Exit::ended);
  EXPECT_EQ(f(20), 1.5f + 10 * 1.75f);
  ASSERT_EQ(run(kSample, {bits(2.0f), bits(2.25f)}, image, {.xy = 1, .unnormalized = true}), Exit::ended);
  EXPECT_EQ(f(20), 1.5f + 10 * 1.75f);
}

TEST_P(Images, AddressingModes) {
  const Descriptor image = two_levels();
  struct {
    int clamp;
    float x;
    float expected;  // of row 0; -1: border
  } const cases[] = {
      {0, 1.125f, 0}, {0, -0.125f, 3}, {0, -5.125f, 3}, {1, 1.125f, 3}, {1, -0.125f, 0}, {1, 2.125f, 0},
      {2, 7.0f, 3},   {2, -7.0f, 0},   {3, -0.4f, 1},   {3, -7.0f, 3},  {4, 7.0f, 3},    {5, -0.4f, 1},
      {6, 1.01f, -1}, {6, -0.01f, -1}, {6, 0.99f, 3},   {7, -0.4f, 1},  {7, -1.01f, -1},
  };
  for (const auto& c : cases) {
    Filter filter{.clamp = c.clamp, .border = 2};
    ASSERT_EQ(run(kSample, {bits(c.x), bits(0.1f)}, image, filter), Exit::ended);
    EXPECT_EQ(f(20), c.expected < 0 ? 1 : c.expected) << "clamp " << c.clamp << " at " << c.x;
  }
  // Half of the border's colour at the edge, whatever lies beyond.
  ASSERT_EQ(run(kSample, {bits(9.0f), bits(0.125f)}, image, {.clamp = 4, .xy = 1, .border = 0}), Exit::ended);
  EXPECT_EQ(f(20), 1.5f);
  ASSERT_EQ(run(kSample, {bits(9.0f), bits(0.125f)}, image, {.clamp = 6, .border = 1}), Exit::ended);
  EXPECT_EQ(f(20), 0);
  EXPECT_EQ(f(23), 1);
  for (const uint32_t far : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f7fffffu})
    for (int clamp = 0; clamp < 8; clamp++)
      ASSERT_EQ(run(kSample, {far, far}, image, {.clamp = clamp, .xy = 1}), Exit::ended);
}

TEST_P(Images, IntegersAreNotFiltered) {
  for (uint32_t i = 0; i < 16; i++) std::memcpy(memory_ + 4 * i, &i, 4);
  const Descriptor image = describe(GetParam(), memory_, {.data = k32, .numeric = kUint, .select = 4});
  ASSERT_EQ(run(kSample, {bits(0.6f), bits(0.3f)}, image, {.xy = 1}), Exit::ended);
  EXPECT_EQ(v(20), 6u);
}

TEST_P(SampledImages, LevelsOfDetail) {
  const Descriptor image = two_levels();
  constexpr const char* kGetLod =
      "000380f100148200";  // image_get_lod v[20:21], v[0:1], s[8:15], s[16:19] dmask:0x3
  // The quad's coordinates differ by two texels sideways: set for lane 1.
  ASSERT_EQ(run(kGetLod, {bits(0.25f), bits(0.25f)}, image), Exit::ended);
  rig_->v(0, 1) = bits(0.75f);
  rig_->wave().set_exec(1);
  ASSERT_EQ(rig_->run(), Exit::ended);
  EXPECT_EQ(f(20), 1);
  EXPECT_EQ(f(21), 1);
  // image_sample_l half-way between two levels mixes them.
  ASSERT_EQ(run("000190f000148200", {bits(0.1f), bits(0.1f), bits(0.5f)}, image, {.mip = 2}), Exit::ended);
  EXPECT_EQ(f(20), 500);
}

TEST_P(RowGathers, FourTexelsFromXOn) {
  ASSERT_EQ(run("000108f100148200", {bits(0.375f), bits(0.375f)}, two_levels()), Exit::ended);
  EXPECT_EQ(f(20), 11);
  EXPECT_EQ(f(23), 13);
}

TEST_P(Images, WhatCannotBeDoneIsNamed) {
  Spec spec;
  spec.tiling = 14;
  EXPECT_EQ(run(kLoad, {0, 0}, describe(GetParam(), memory_, spec)), Exit::fault);
  EXPECT_NE(rig_->fault().detail.find(gfx9() ? "tiling" : "tiled"), std::string::npos);
  EXPECT_EQ(run(kLoad, {0, 0}, describe(GetParam(), memory_, {.data = kBc1, .numeric = kUnorm})),
            Exit::fault);
  EXPECT_NE(rig_->fault().detail.find("block-compressed"), std::string::npos);
  EXPECT_EQ(run(kSample, {0, 0}, two_levels(), {.border = 3}), Exit::fault);
  EXPECT_NE(rig_->fault().detail.find("palette"), std::string::npos);
  // No resource at all reads as zero.
  ASSERT_EQ(run(kLoad, {0, 0}, Descriptor{}), Exit::ended);
  EXPECT_EQ(v(20) | v(23), 0u);
}

TEST_P(Images, AWildAddressIsAFaultOfItsLane) {
  const Descriptor image = describe(GetParam(), reinterpret_cast<void*>(uint64_t{0x100}), {});
  EXPECT_EQ(run(kLoad, {2, 1}, image), Exit::fault);
  EXPECT_EQ(rig_->fault().kind, FaultKind::memory);
  EXPECT_EQ(rig_->fault().address, 0x100u + (1 * 4 + 2) * 16);
}

}  // namespace
}  // namespace morgana::device
