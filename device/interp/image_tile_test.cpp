// Tiled images of gfx9 and later: loads, stores, samples, gathers and atomics of texels whose places AMD's
// addrlib has computed (testdata/image_tiles.txt, image_tiles_gfx10.txt to image_tiles_gfx12.txt).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/testing/wave_rig.h"

#define MORGANA_SIMD tested
#include "device/semantics/image_tile.h"

namespace morgana::device {
namespace {

using namespace tested::image;

struct Texel {
  uint32_t x, y, slice;
  uint64_t offset;
};
struct Surface {
  uint32_t mode, dimensions, bytes_log2, width, height, slices, pitch;
  std::vector<Texel> texels;

  uint32_t bytes() const { return 1u << bytes_log2; }
};

std::vector<Surface> surfaces(const std::string& name = "image_tiles.txt") {
  std::ifstream file(MORGANA_SOURCE_DIR "/device/interp/testdata/" + name);
  std::vector<Surface> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Surface s;
    words >> s.mode >> s.dimensions >> s.bytes_log2 >> s.width >> s.height >> s.slices >> s.pitch;
    Texel t;
    for (char c; words >> t.x >> c >> t.y >> c >> t.slice >> c >> t.offset;) s.texels.push_back(t);
    EXPECT_FALSE(s.texels.empty()) << line;
    all.push_back(std::move(s));
  }
  return all;
}

constexpr const char* kLoad = "005f00f000140200";   // image_load v[20:23], v[0:2], s[8:15] dmask:0xf unorm da
constexpr const char* kStore = "005f20f000140200";  // image_store
constexpr const char* kSample =
    "004f80f000148200";  // image_sample v[20:23], v[0:2], s[8:15], s[16:19] dmask:0xf da
constexpr const char* kGather =
    "004101f100148200";  // image_gather4 v[20:24], v[0:2], s[8:15], s[16:19] dmask:0x1 tfe da
constexpr const char* kAdd = "005148f000140200";  // image_atomic_add v20, v[0:2], s[8:15] dmask:0x1 unorm da

// What differs from gfx10 on: encodings by llvm-mc 22 for arrays of lines and of planes and for volumes, what
// stands for UINT of 1 to 16 bytes, and how many SW_MODEs each has.
struct Rdna {
  const char *load[3], *store[3];
  std::array<uint32_t, 5> format;
  size_t modes[3];
};
constexpr Rdna kRdna[] = {
    {{"201f00f000140200", "281f00f000140200", "101f00f000140200"},
     {"201f20f000140200", "281f20f000140200", "101f20f000140200"},
     {5, 11, 20, 62, 75},
     {2, 14, 8}},
    {{"900f00f000140200", "940f00f000140200", "880f00f000140200"},
     {"900f18f000140200", "940f18f000140200", "880f18f000140200"},
     {5, 11, 20, 48, 61},
     {2, 11, 11}},
    {{"0400c0d31410000000010000", "0500c0d31410000000010200", "0200c0d31410000000010200"},
     {"0480c1d31410000000010000", "0580c1d31410000000010200", "0280c1d31410000000010200"},
     {5, 11, 20, 48, 61},
     {4, 4, 6}}};

enum Type : uint32_t { kVolume = 10, kLineArray = 12, kPlaneArray = 13 };
enum Numeric : uint32_t { kUint = 4 };

class TiledImages : public testing::TestWithParam<Target> {
 protected:
  // Zeroed memory of a surface and its T# by the field positions of ROCR-Runtime's resource_ai.h.
  void lay_out(const Surface& s) {
    size_t bytes = size_t{2} << 20;
    for (const Texel& t : s.texels) bytes = std::max<size_t>(bytes, (t.offset + 65536) & ~uint64_t{65535});
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(65536, bytes)));
    std::memset(memory_.get(), 0, bytes);
    constexpr std::array<uint32_t, 5> kFormat = {1, 2, 4, 11, 14};
    const auto address = reinterpret_cast<uint64_t>(memory_.get());
    constexpr Type kType[] = {kLineArray, kPlaneArray, kVolume};
    const uint32_t type = kType[s.dimensions - 1];
    image_ = {};
    image_[0] = static_cast<uint32_t>(address >> 8);
    image_[1] =
        static_cast<uint32_t>(address >> 40 & 0xff) | kFormat[s.bytes_log2] << 20 | uint32_t{kUint} << 26;
    image_[2] = (s.width - 1) | (s.height - 1) << 14;
    image_[3] = (4 | 5 << 3 | 6 << 6 | 7 << 9) | s.mode << 20 | type << 28;
    image_[4] = (s.slices - 1) | (s.pitch - 1) << 13;
  }
  const Rdna& rdna() const {
    return kRdna[static_cast<uint32_t>(morgana::info(GetParam()).generation) -
                 static_cast<uint32_t>(Generation::gfx10)];
  }
  // Likewise by resource_nv.h, resource_gfx11.h and resource_gfx12.h, which have no place for an array's
  // pitch.
  void lay_out_rdna(const Surface& s) {
    lay_out(s);
    const bool gfx12 = morgana::info(GetParam()).generation == Generation::gfx12;
    image_[1] = (image_[1] & 0xff) | rdna().format[s.bytes_log2] << (gfx12 ? 17 : 20) | (s.width - 1) << 30;
    image_[2] = (s.width - 1) >> 2 | (s.height - 1) << 14;
    image_[4] = s.slices - 1;
  }
  // Runs one instruction on lane 0; v[20:23] afterwards.
  std::array<uint32_t, 4> run(const char* hex, std::array<uint32_t, 3> address,
                              std::array<uint32_t, 4> data = {}) {
    rig_ = std::make_unique<WaveRig>(GetParam(), dwords_of_hex(hex));
    for (int i = 0; i < 8; i++) rig_->s(8 + i) = image_[static_cast<size_t>(i)];
    // Clamped to the last texel, not normalized.
    const uint32_t sampler[4] = {2 | 2 << 3 | 2 << 6 | 1 << 15, 0xfffu << 12, 0, 0};
    for (int i = 0; i < 4; i++) rig_->s(16 + i) = sampler[i];
    for (size_t i = 0; i < 3; i++) rig_->v(static_cast<int>(i), 0) = address[i];
    for (size_t i = 0; i < 4; i++) rig_->v(20 + static_cast<int>(i), 0) = data[i];
    rig_->wave().set_exec(1);
    exit_ = rig_->run();
    std::array<uint32_t, 4> result;
    for (size_t i = 0; i < 4; i++) result[i] = rig_->v(20 + static_cast<int>(i), 0);
    return result;
  }
  // What a texel of `bytes` bytes holds: `value` in its first component, others after it.
  static std::array<uint32_t, 4> content(const Surface& s, uint32_t value) {
    std::array<uint32_t, 4> c{};
    const uint32_t components = s.bytes() <= 4 ? 1 : s.bytes() / 4;
    for (uint32_t i = 0; i < components; i++) c[i] = value + i;
    return c;
  }

  // A load finds a texel where `t` says, and a store puts it there.
  void expect_place(const Surface& s, const Texel& t, const char* load, const char* store) {
    const auto first = content(s, 0x51), second = content(s, 0x23);
    std::memcpy(memory_.get() + t.offset, first.data(), s.bytes());
    const auto read = run(load, {t.x, t.y, t.slice});
    ASSERT_EQ(exit_, Exit::ended) << rig_->fault().detail;
    for (size_t i = 0; i < s.bytes() / 4 || i == 0; i++)
      ASSERT_EQ(read[i], first[i]) << t.x << ' ' << t.y << ' ' << t.slice;
    run(store, {t.x, t.y, t.slice}, second);
    ASSERT_EQ(exit_, Exit::ended);
    ASSERT_EQ(std::memcmp(memory_.get() + t.offset, second.data(), s.bytes()), 0);
  }

  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> memory_;
  std::array<uint32_t, 8> image_{};
  std::unique_ptr<WaveRig> rig_;
  Exit exit_{};
};
INSTANTIATE_TEST_SUITE_P(Targets, TiledImages, testing::Values(Target::gfx900, Target::gfx90a),
                         [](const auto& instance) {
                           return std::string(morgana::info(instance.param).name);
                         });

TEST_P(TiledImages, TexelsLieWhereAddrlibSays) {
  std::set<uint32_t> modes;
  for (const Surface& s : surfaces()) {
    SCOPED_TRACE("SW_MODE " + std::to_string(s.mode) + ", dimensions " + std::to_string(s.dimensions) +
                 ", bytes " + std::to_string(s.bytes()));
    modes.insert(s.mode);
    lay_out(s);
    for (const Texel& t : s.texels) {
      expect_place(s, t, kLoad, kStore);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(modes.size(), 23u);  // all but linear and what is reserved
}

using TiledImagesOfRdna = TiledImages;
INSTANTIATE_TEST_SUITE_P(Targets, TiledImagesOfRdna,
                         testing::Values(Target::gfx1010, Target::gfx1030, Target::gfx1100, Target::gfx1200),
                         [](const auto& instance) {
                           return std::string(morgana::info(instance.param).name);
                         });

TEST_P(TiledImagesOfRdna, TexelsLieWhereAddrlibSays) {
  std::set<uint32_t> modes[3];
  const auto generation = static_cast<int>(morgana::info(GetParam()).generation);
  for (const Surface& s : surfaces("image_tiles_gfx" + std::to_string(generation) + ".txt")) {
    SCOPED_TRACE("SW_MODE " + std::to_string(s.mode) + ", dimensions " + std::to_string(s.dimensions) +
                 ", bytes " + std::to_string(s.bytes()));
    const size_t shape = s.dimensions - 1;
    modes[shape].insert(s.mode);
    lay_out_rdna(s);
    for (Texel t : s.texels) {
      if (shape == 0) std::swap(t.y, t.slice);  // of a line the layer follows x
      expect_place(s, t, rdna().load[shape], rdna().store[shape]);
      if (HasFatalFailure()) return;
    }
  }
  // No other mode is executed.
  for (uint32_t shape = 0; shape < 3; shape++) {
    EXPECT_EQ(modes[shape].size(), rdna().modes[shape]);
    for (uint32_t mode = 1; mode < 32; mode++) {
      if (modes[shape].contains(mode)) continue;
      lay_out_rdna({mode, shape + 1, 2, 4, 4, 1, 4, {}});
      run(rdna().load[shape], {0, 0, 0});
      EXPECT_EQ(exit_, Exit::fault) << mode;
      EXPECT_EQ(rig_->fault().kind, FaultKind::unimplemented) << mode;
      EXPECT_NE(rig_->fault().detail.find("SW_MODE"), std::string::npos) << rig_->fault().detail;
    }
  }
}

// The places within a block are a permutation: as linear maps of coordinate bits, the columns are
// independent.
TEST(TileEquations, GiveEachTexelAPlace) {
  size_t equations = 0, rows = surfaces().size();
  for (const char* const name : {"image_tiles_gfx10.txt", "image_tiles_gfx11.txt", "image_tiles_gfx12.txt"})
    rows += surfaces(name).size();
  for (const Generation generation :
       {Generation::gfx9, Generation::gfx10, Generation::gfx11, Generation::gfx12})
    for (const Shape shape : {Shape::line, Shape::plane, Shape::volume})
      for (uint32_t mode = 0; mode < 32; mode++)
        for (uint32_t bytes_log2 = 0; bytes_log2 < 5; bytes_log2++) {
          const Tiling tiling = tiling_of(generation, shape, mode, 1u << bytes_log2);
          if (tiling.equation == nullptr) continue;
          equations++;
          std::array<uint32_t, TileEquation::kLargest> basis{};
          uint32_t columns = 0, rank = 0;
          for (uint32_t axis = 0; axis < 3; axis++)
            for (uint32_t bit = 0; bit < tiling.equation->bits[axis][tiling.block_log2]; bit++, columns++) {
              uint32_t column = tiling.equation->inside(axis, 1u << bit) & ((1u << tiling.block_log2) - 1);
              EXPECT_EQ(column & ((1u << bytes_log2) - 1), 0u);  // the texel's own bytes
              while (column != 0) {
                uint32_t& pivot = basis[static_cast<uint32_t>(std::countr_zero(column))];
                if (pivot == 0) {
                  pivot = column;
                  rank++;
                  break;
                }
                column ^= pivot;
              }
            }
          EXPECT_EQ(columns, tiling.block_log2 - bytes_log2);
          EXPECT_EQ(rank, columns) << static_cast<int>(generation) << ' ' << mode << ' ' << bytes_log2;
        }
  EXPECT_EQ(equations, rows);
}

// Every texel has bytes of its own.
TEST_P(TiledImages, NoTwoTexelsMeet) {
  for (const uint32_t dimensions : {2u, 3u})
    for (const uint32_t mode : {4u, 5u, 6u}) {
      const Surface s{mode, dimensions, 2, 40, 40, 5, 64, {}};
      lay_out(s);
      uint32_t number = 0;
      for (uint32_t z = 0; z < s.slices; z++)
        for (uint32_t y = 0; y < s.height; y += 3)
          for (uint32_t x = 0; x < s.width; x += 3) run(kStore, {x, y, z}, {++number});
      const uint32_t last = number;
      number = 0;
      for (uint32_t z = 0; z < s.slices; z++)
        for (uint32_t y = 0; y < s.height; y += 3)
          for (uint32_t x = 0; x < s.width; x += 3) ASSERT_EQ(run(kLoad, {x, y, z})[0], ++number);
      ASSERT_EQ(number, last);
    }
}

TEST_P(TiledImages, SamplersAndAtomicsFindTheSameTexels) {
  const auto bits = [](float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    return u;
  };
  for (const Surface& s : surfaces()) {
    if (s.bytes_log2 != 2 || (s.mode != 22 && s.mode != 24 && s.mode != 26)) continue;
    lay_out(s);
    const Texel& t = s.texels.front();
    const uint32_t value = 0x1234567;
    std::memcpy(memory_.get() + t.offset, &value, 4);
    const std::array<uint32_t, 3> at = {bits(static_cast<float>(t.x) + 0.5f),
                                        bits(static_cast<float>(t.y) + 0.5f),
                                        bits(static_cast<float>(t.slice) + (s.dimensions == 3 ? 0.5f : 0))};
    EXPECT_EQ(run(kSample, at)[0], value);
    EXPECT_EQ(exit_, Exit::ended) << rig_->fault().detail;
    if (GetParam() != Target::gfx90a && s.dimensions == 2) {
      const auto four = run(kGather, at);
      EXPECT_EQ(exit_, Exit::ended) << rig_->fault().detail;
      EXPECT_TRUE(four[0] == value || four[1] == value || four[2] == value || four[3] == value);
    }
    run(kAdd, {t.x, t.y, t.slice}, {5});
    EXPECT_EQ(exit_, Exit::ended) << rig_->fault().detail;
    uint32_t after;
    std::memcpy(&after, memory_.get() + t.offset, 4);
    EXPECT_EQ(after, value + 5);
  }
}

TEST_P(TiledImages, WhatIsNotExecutedIsNamed) {
  const auto refused = [&](const Surface& s, uint32_t word3, uint32_t word5) {
    lay_out(s);
    image_[3] |= word3;
    image_[5] |= word5;
    run(kLoad, {0, 0, 0});
    return exit_ == Exit::fault && rig_->fault().kind == FaultKind::unimplemented &&
           rig_->fault().detail.find("SW_MODE") != std::string::npos;
  };
  const Surface plane{9, 2, 2, 4, 4, 1, 128, {}}, volume{9, 3, 2, 4, 4, 1, 128, {}};
  EXPECT_FALSE(refused(plane, 0, 0));
  EXPECT_TRUE(refused(plane, 1 << 16, 1u << 28));  // two levels
  auto other = plane;
  for (const uint32_t mode : {12u, 15u, 28u, 31u}) {
    other.mode = mode;
    EXPECT_TRUE(refused(other, 0, 0)) << mode;
  }
  other = plane;
  other.mode = 8, other.bytes_log2 = 4;
  EXPECT_TRUE(refused(other, 0, 0));
  other = volume;
  for (const uint32_t mode : {1u, 7u, 27u}) {
    other.mode = mode;
    EXPECT_TRUE(refused(other, 0, 0)) << mode;
  }
}

}  // namespace
}  // namespace morgana::device
