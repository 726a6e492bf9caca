// What compiled code counts of lanes that lie anyhow: lines, LDS phases and bytes are those that the
// interpreter's Observer counts.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/testing/counting.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// global_load_dword v10, v[2:3], off; global_load_dwordx3 v[12:14], v[2:3], off offset:4
// global_load_ubyte v10, v1, s[10:11]; global_load_dwordx4 v[12:15], v1, s[10:11]; s_waitcnt vmcnt(0)
constexpr std::string_view kGlobal =
    "008050dc02007f0a 048058dc02007f0c 008040dc01000a0a 00805cdc01000a0c 700f8cbf";
// s_mov_b32 s0, 0; and three times:
//   ds_read_b32 v10, v4; ds_read_b64 v[12:13], v4 offset:8; ds_read_b128 v[12:15], v4 offset:16
//   ds_write_b128 v4, v[16:19] offset:16; ds_read2_b32 v[12:13], v4 offset0:1 offset1:9
//   ds_read_b96 v[12:14], v4; ds_read_u16 v10, v4; ds_read_b32 v10, v4 offset:64
//   ds_read_b32 v10, v4 offset:2; v_add_u32_e32 v4, 4, v4; ds_read_b32 v10, v4
//   s_waitcnt lgkmcnt(0); s_add_u32 s0, s0, 1; s_cmp_lt_u32 s0, 3; s_cbranch_scc1
constexpr std::string_view kLds =
    "800080be 00006cd80400000a 0800ecd80400000c 1000fed90400000c 1000bed904100000 01096ed80400000c "
    "0000fcd90400000c 000078d80400000a 40006cd80400000a 02006cd80400000a 84080868 "
    "00006cd80400000a 7fc08cbf 00810080 00830abf e7ff85bf";
// ds_add_u32 v4, v0; v_add_u32_e32 v4, 4, v4; ds_add_u32 v4, v0; s_waitcnt lgkmcnt(0)
constexpr std::string_view kAtomics = "000000d804000000 84080868 000000d804000000 7fc08cbf";
constexpr uint32_t kBytes = 1 << 16;

// A wave's lanes: rising, falling, sixteens of neighbours, few places, any, or rows that begin in the middle
// of a dword; the same distances twice in a row, and lanes that are not active lie anywhere.
class Places {
 public:
  uint64_t exec = 0;
  std::array<uint32_t, kLanes> at{};

  void choose() {
    const uint64_t masks[] = {~uint64_t{0}, random_(), random_() & random_() & random_(),
                              uint64_t{1} << random_() % kLanes};
    exec = masks[random_() % 4];
    if (exec == 0) exec = 1;
    const uint32_t form = random_() % 6, align = 1u << random_() % 5, stride = random_() % 64 * align;
    const auto base = static_cast<uint32_t>(random_() % (kBytes / 4) / align * align);
    for (uint32_t l = 0; l < kLanes; l++) {
      const uint32_t places[] = {base + l * stride,
                                 base + (kLanes - l) * stride,
                                 base + l % 16 * 4 + l / 16 * stride,
                                 base + static_cast<uint32_t>(random_() % 8) * align,
                                 static_cast<uint32_t>(random_() % kBytes) / align * align,
                                 base + 1 + 4 * l};
      at[l] = places[form];
      if ((exec >> l & 1) == 0 && random_() % 2 == 0) at[l] = static_cast<uint32_t>(random_() % kBytes);
    }
  }
  void move() {
    for (uint32_t& one : at) one = (one + 4) % kBytes;
  }
  bool again() { return random_() % 4 == 0; }

 private:
  std::mt19937_64 random_{11};
};

void expect_equal_counts(Target target, std::string_view code, uint32_t align = 1) {
  Counting counting;
  RigOptions options;
  options.group_bytes = kBytes;
  options.observer = &counting;
  WaveRig rig(target, dwords_of_hex(std::string(code)), options);
  std::vector<uint8_t> memory(2 * kBytes);
  const auto base = reinterpret_cast<uint64_t>(memory.data());
  Places places;
  for (int n = 0; n < 400; n++) {
    places.again() ? places.move() : places.choose();
    for (uint32_t& one : places.at) one &= ~(align - 1);
    LaunchProfile profile[2];
    for (const bool compiled : {false, true}) {
      counting.begin(rig.launch());
      rig.restart();
      rig.wave().set_exec(places.exec);
      std::memcpy(&rig.s(10), &base, 8);
      for (int lane = 0; lane < kLanes; lane++) {
        const uint64_t address = base + places.at[static_cast<size_t>(lane)];
        rig.v(1, lane) = rig.v(4, lane) = places.at[static_cast<size_t>(lane)];
        rig.v(2, lane) = static_cast<uint32_t>(address);
        rig.v(3, lane) = static_cast<uint32_t>(address >> 32);
      }
      ASSERT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
      profile[compiled] = counting.finish();
    }
    ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    ASSERT_EQ(profile[0].instructions.size(), profile[1].instructions.size());
    for (size_t i = 0; i < profile[0].instructions.size(); i++)
      ASSERT_TRUE(profile[0].instructions[i].counts == profile[1].instructions[i].counts)
          << n << ' ' << text_of(profile[0].instructions[i]).text;
  }
}

TEST(CountPaths, LinesOfAnyLanes) { expect_equal_counts(Target::gfx950, kGlobal); }
TEST(CountPaths, PhasesOf64Banks) { expect_equal_counts(Target::gfx950, kLds); }
TEST(CountPaths, PhasesOf32Banks) { expect_equal_counts(Target::gfx90a, kLds); }
TEST(CountPaths, PhasesOfAtomics) {
  expect_equal_counts(Target::gfx950, kAtomics, 4);
  expect_equal_counts(Target::gfx90a, kAtomics, 4);
}

}  // namespace
}  // namespace morgana::device
