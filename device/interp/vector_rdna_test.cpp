// What the reference cases of gfx10 to gfx12 (vector_targets_test.cpp) do not reach: waves of 64, sparse
// matrices, relative moves.
#include <gtest/gtest.h>

#include <bit>

#include "device/coverage.h"
#include "device/testing/vectors.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// No arithmetic or control is without semantics; memory has tests of its own.
TEST(RdnaCoverage, EveryFormOfEveryArithmeticRow) {
  for (const Target target : {Target::gfx1010, Target::gfx1030, Target::gfx1100, Target::gfx1200}) {
    int forms = 0;
    for (const RowCoverage& row : coverage(target)) {
      if (row.row->format >= isa::Format::DS || isa::is_scalar_memory(row.row->format)) continue;
      forms++;
      EXPECT_NE(row.state, RowState::missing)
          << info(target).name << " " << row.row->mnemonic << " " << isa::name(row.form);
    }
    EXPECT_GT(forms, 1000) << info(target).name;
  }
}

// --- Matrices in waves of 64, and sparse ones ---

RigOptions in_wave(WaveSize size) {
  RigOptions options;
  options.wave_size = size;
  return options;
}

uint32_t half_of(int value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

// Operands of 16 x K and K x 16 small integers, put where the guides say. `bits`: of an element.
struct MatrixCase {
  Target target;
  WaveSize size;
  int k, bits;
  bool sparse = false;
  int key = 0;

  bool gfx12() const { return target == Target::gfx1200; }
  int parts() const { return static_cast<int>(size) / 16; }
  int k_of_a() const { return sparse ? k / 2 : k; }
  int per_lane(int total) const { return gfx12() ? std::max(total / parts(), 32 / bits) : total; }
  static int a(int row, int n) { return (row * 5 + n * 3) % 7 - 3; }
  static int b(int n, int column) { return (n * 2 + column * 3 + n * column) % 7 - 3; }
  // Which of every four values of K the elements 2g and 2g + 1 of a row are.
  static int chosen(int row, int n) {
    constexpr int kPairs[][2] = {{0, 1}, {0, 3}, {1, 2}, {2, 3}, {1, 3}};
    return kPairs[(row + n / 2) % 5][n % 2];
  }

  void put(WaveRig& rig, int base, int item, int lane, int value) const {
    const uint32_t code = bits == 16 ? half_of(value) : static_cast<uint32_t>(value) & ((1u << bits) - 1);
    rig.v(base + item * bits / 32, lane) |= code << (item * bits % 32);
  }
  void fill(WaveRig& rig) const {
    for (int r = 0; r < 64; r++)
      for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = 0;
    for (int base : {0, 16})
      for (int i = 0; i < 16; i++) {
        const int total = base == 0 ? k_of_a() : k, per = per_lane(total);
        for (int n = 0; n < total; n++) {
          const int value = base == 0 ? a(i, n) : b(n, i);
          if (gfx12()) put(rig, base, n % per, i + 16 * (n / per), value);
          // Every 16 lanes have all of it.
          for (int part = 0; part < parts() && !gfx12(); part++) put(rig, base, n, i + 16 * part, value);
        }
      }
    if (!sparse) return;
    const int per = per_lane(k_of_a());
    for (int row = 0; row < 16; row++)
      for (int n = 0; n < k_of_a(); n++)
        rig.v(60, row + 16 * (n / per)) |= static_cast<uint32_t>(chosen(row, n))
                                           << (2 * (n % per) + key * 2 * per);
  }
  int expected(int row, int column) const {
    int sum = 0;
    for (int n = 0; n < k_of_a(); n++)
      sum += a(row, n) * b(sparse ? 4 * (n / 2) + chosen(row, n) : n, column);
    return sum;
  }
  uint32_t result(WaveRig& rig, int row, int column) const {
    const int rows = 16 / parts();
    return gfx12() ? rig.v(40 + row % rows, column + 16 * (row / rows))
                   : rig.v(40 + row / parts(), column + 16 * (row % parts()));
  }
};

void check_matrix(const MatrixCase& c, const char* hex, bool integers) {
  WaveRig rig(c.target, dwords_of_hex(hex), in_wave(c.size));
  c.fill(rig);
  rig.wave().set_exec(1);  // does not matter
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  for (int row = 0; row < 16; row++)
    for (int column = 0; column < 16; column++) {
      const uint32_t got = c.result(rig, row, column);
      const int value = integers ? static_cast<int>(got) : static_cast<int>(std::bit_cast<float>(got));
      ASSERT_EQ(value, c.expected(row, column)) << hex << " row " << row << " column " << column;
    }
}

TEST(WaveMatrices, OfEitherWaveSize) {
  // D in v40, A in v0, B in v16, C in v32.
  constexpr const char *kF32OfF16 = "284040cc0021821c", *kI32OfI8 = "284044cc0021827c";
  for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64}) {
    check_matrix({Target::gfx1100, size, 16, 16}, kF32OfF16, false);
    check_matrix({Target::gfx1200, size, 16, 16}, kF32OfF16, false);
    check_matrix({Target::gfx1100, size, 16, 8}, kI32OfI8, true);
    check_matrix({Target::gfx1200, size, 16, 8}, kI32OfI8, true);
  }
}

TEST(WaveMatrices, OfSparseOperands) {
  // The index in v60; with the second half of its register; all of it, for elements of four bits.
  constexpr const char *kF16 = "284050cc0021f21c", *kF16Key1 = "284850cc0021f21c", *kI4 = "284056cc0021f27c";
  check_matrix({Target::gfx1200, WaveSize::wave32, 32, 16, true}, kF16, false);
  check_matrix({Target::gfx1200, WaveSize::wave32, 32, 16, true, 1}, kF16Key1, false);
  check_matrix({Target::gfx1200, WaveSize::wave64, 32, 16, true}, kF16, false);
  check_matrix({Target::gfx1200, WaveSize::wave64, 32, 16, true, 1}, kF16Key1, false);
  check_matrix({Target::gfx1200, WaveSize::wave32, 64, 4, true}, kI4, true);
}

// --- Other lanes ---

TEST(Permutations, OfRows) {
  struct Case {
    const char* hex;
    bool across, fetches_inactive, bound_ctrl;
  };
  const Case cases[] = {
      {"020077d701050c00", false, false, false},  // v_permlane16_b32 v2, v1, s2, s3
      {"021077d701050c00", false, false, true},   // v_permlane16_b32 v2, v1, s2, s3 op_sel:[0,1]
      {"020878d701050c00", true, true, false},    // v_permlanex16_b32 v2, v1, s2, s3 op_sel:[1,0]
  };
  const uint64_t selects = 0x0123'4567'89ab'cdef, exec = 0xfff0'ffff'7fff'f00f;
  for (const Case& c : cases) {
    WaveRig rig(Target::gfx1030, dwords_of_hex(c.hex), in_wave(WaveSize::wave64));
    for (int lane = 0; lane < kLanes; lane++)
      rig.v(1, lane) = 100 + static_cast<uint32_t>(lane), rig.v(2, lane) = 7;
    rig.s(2) = static_cast<uint32_t>(selects), rig.s(3) = static_cast<uint32_t>(selects >> 32);
    rig.wave().set_exec(exec);
    ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
    for (int lane = 0; lane < kLanes; lane++) {
      const int source =
          ((lane & ~15) ^ (c.across ? 16 : 0)) | static_cast<int>(selects >> 4 * (lane & 15) & 15);
      uint32_t want = 100 + static_cast<uint32_t>(source);
      if (!c.fetches_inactive && !(exec >> source & 1)) want = c.bound_ctrl ? 0 : 7;
      if (!(exec >> lane & 1)) want = 7;
      EXPECT_EQ(rig.v(2, lane), want) << c.hex << " lane " << lane;
    }
  }
}

TEST(Permutations, ByASelectOfEachLane) {
  for (const bool across : {false, true}) {
    WaveRig rig(Target::gfx1200,
                dwords_of_hex(across ? "020010d701070200"     // v_permlanex16_var_b32 v2, v1, v3
                                     : "02000fd701070200"));  // v_permlane16_var_b32 v2, v1, v3
    for (int lane = 0; lane < 32; lane++) {
      rig.v(1, lane) = 100 + static_cast<uint32_t>(lane);
      rig.v(3, lane) = 0xfff0u | static_cast<uint32_t>(lane * 7 % 16);
    }
    ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
    for (int lane = 0; lane < 32; lane++) {
      const int row = (lane & 16) ^ (across ? 16 : 0);
      EXPECT_EQ(rig.v(2, lane), static_cast<uint32_t>(100 + row + lane * 7 % 16)) << lane;
    }
  }
}

TEST(Permutations, OfTheHalvesOfAWave) {
  for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64}) {
    WaveRig rig(Target::gfx1100, dwords_of_hex("01cf047e"), in_wave(size));  // v_permlane64_b32 v2, v1
    for (int lane = 0; lane < kLanes; lane++)
      rig.v(1, lane) = 100 + static_cast<uint32_t>(lane), rig.v(2, lane) = 7;
    rig.wave().set_exec(0xffff'ffff'0000'00ff);
    ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
    for (int lane = 0; lane < kLanes; lane++) {
      const bool written = size == WaveSize::wave64 && (lane < 8 || lane >= 32);
      EXPECT_EQ(rig.v(2, lane), written ? static_cast<uint32_t>(100 + (lane ^ 32)) : 7u) << lane;
    }
  }
}

TEST(RelativeMoves, WithAnOffsetForEachSide) {
  for (const bool swaps : {false, true}) {
    WaveRig rig(Target::gfx1030, dwords_of_hex(swaps ? "08d1087e"     // v_swaprel_b32 v4, v8
                                                     : "0891087e"));  // v_movrelsd_2_b32_e32 v4, v8
    for (int r = 0; r < 20; r++)
      for (int lane = 0; lane < 32; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 100 + lane);
    rig.wave().m0() = 2u << 16 | 3;
    rig.wave().set_exec(0x0f);
    ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
    for (int lane = 0; lane < 32; lane++) {
      const bool active = lane < 4;
      EXPECT_EQ(rig.v(6, lane), static_cast<uint32_t>((active ? 1100 : 600) + lane));
      EXPECT_EQ(rig.v(11, lane), static_cast<uint32_t>((active && swaps ? 600 : 1100) + lane));
    }
  }
}

TEST(Halves, OfOneRegisterChangePlaces) {
  WaveRig rig(Target::gfx1100, dwords_of_hex("81cd027e"));  // v_swap_b16 v1.l, v1.h
  for (int lane = 0; lane < 32; lane++) rig.v(1, lane) = 0x1234'5678;
  rig.wave().set_exec(1);
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(1, 0), 0x5678'1234u);
  EXPECT_EQ(rig.v(1, 1), 0x1234'5678u);
}

}  // namespace
}  // namespace morgana::device
