// Matrix instructions against their definition, D = C + A * B, with numbers whose sums are exact in any
// order.
//
// Where an element lies follows from the CDNA4 guide's 7.1.4: a lane holds consecutive values of k, of one
// row of A or column of B. The hex is LLVM's encoding of the assembly beside it (clang -target
// amdgcn-amd-amdhsa -mcpu=gfx950).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr int kA = 0, kB = 8, kD = 16, kIndex = 40;  // registers; with scales: of A, then of B

// What one item can be: its bits, and their value.
struct Code {
  uint64_t bits;
  double value;
};
using Codes = std::vector<Code>;

Codes halves(int mantissa_bits) {  // of 16 bits; small integers
  Codes codes;
  for (int i = -8; i <= 8; i++) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(i));
    const uint32_t sign = bits >> 31 << 15;
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127, bias = mantissa_bits == 7 ? 127 : 15;
    const uint32_t magnitude = i == 0 ? 0
                                      : static_cast<uint32_t>(exponent + bias) << mantissa_bits |
                                            (bits & 0x7fffff) >> (23 - mantissa_bits);
    codes.push_back({sign | magnitude, static_cast<double>(i)});
  }
  return codes;
}
Codes bytes() {
  Codes codes;
  for (int i = -128; i < 128; i++) codes.push_back({static_cast<uint8_t>(i), static_cast<double>(i)});
  return codes;
}
Codes fp4() {
  const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  Codes codes;
  for (uint32_t i = 0; i < 16; i++) codes.push_back({i, i < 8 ? values[i] : -values[i - 8]});
  return codes;
}
Codes singles() {
  Codes codes;
  for (int i = -9; i < 9; i++) codes.push_back({std::bit_cast<uint32_t>(i * 0.5F), i * 0.5});
  return codes;
}
Codes doubles() {
  Codes codes;
  for (int i = -9; i < 9; i++) codes.push_back({std::bit_cast<uint64_t>(i * 0.25), i * 0.25});
  return codes;
}

enum class Sum { f32, i32, f64 };
struct Case {
  const char* hex;
  int side, k, blocks, bits;
  Codes codes;
  Sum sum = Sum::f32;
  bool is_scaled = false, is_sparse = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"1000b5d300114204" /* v_mfma_f32_16x16x32_bf16 */, 16, 32, 1, 16, halves(7)},
      {"1000b7d300114204" /* v_mfma_f32_32x32x16_bf16 */, 32, 16, 1, 16, halves(7)},
      {"1000cad300114204" /* v_mfma_f32_4x4x4_16b_f16 */, 4, 4, 16, 16, halves(10)},
      {"1000c4d300114204" /* v_mfma_f32_32x32x2_f32 */, 32, 2, 1, 32, singles()},
      {"1000b8d300114204" /* v_mfma_i32_32x32x32_i8 */, 32, 32, 1, 8, bytes(), Sum::i32},
      {"1000b6d300114204" /* v_mfma_i32_16x16x64_i8 */, 16, 64, 1, 8, bytes(), Sum::i32},
      {"1000d2d300114204" /* v_mfma_i32_4x4x4_16b_i8 */, 4, 4, 16, 8, bytes(), Sum::i32},
      {"0000acd328530200 100cadd300114284" /* v_mfma_scale_f32_16x16x128_f8f6f4 */, 16, 128, 1, 4, fp4(),
       Sum::f32, true},
      {"0000acd328530200 100caed300114284" /* v_mfma_scale_f32_32x32x64_f8f6f4 */, 32, 64, 1, 4, fp4(),
       Sum::f32, true},
      {"1000eed300114204" /* v_mfma_f64_16x16x4_f64 */, 16, 4, 1, 64, doubles(), Sum::f64},
      {"1000b9d30011a204" /* v_smfmac_f32_16x16x64_bf16 */, 16, 64, 1, 16, halves(7), Sum::f32, false, true},
  };
  return all;
}

// The item `n` of a lane, in the registers from `first` on.
void set_item(WaveRig& rig, int first, int bits, int lane, int n, uint64_t code) {
  const int at = n * bits;
  uint32_t& low = rig.v(first + at / 32, lane);
  if (bits < 32) {
    const uint32_t mask = ((1u << bits) - 1) << (at % 32);
    low = (low & ~mask) | static_cast<uint32_t>(code) << (at % 32);
    return;
  }
  low = static_cast<uint32_t>(code);
  if (bits == 64) rig.v(first + at / 32 + 1, lane) = static_cast<uint32_t>(code >> 32);
}

// Whoever holds D[block][row][column]: the value's number and the lane.
struct Held {
  int value, lane;
};
Held held(const Case& test, int block, int row, int column) {
  if (test.sum == Sum::f64) return {row / 4, 16 * (row % 4) + column};
  switch (test.side) {
    case 4: return {row, 4 * block + column};
    case 16: return {row % 4, 16 * (row / 4) + column};
    default: return {4 * (row / 8) + row % 4, 32 * (row / 4 % 2) + column};
  }
}

double sum_of(WaveRig& rig, const Case& test, Held at) {
  switch (test.sum) {
    case Sum::f32: return std::bit_cast<float>(rig.v(kD + at.value, at.lane));
    case Sum::i32: return static_cast<int32_t>(rig.v(kD + at.value, at.lane));
    default:
      return std::bit_cast<double>(rig.v(kD + 2 * at.value, at.lane) |
                                   uint64_t{rig.v(kD + 2 * at.value + 1, at.lane)} << 32);
  }
}

void check(const Case& test, uint32_t seed) {
  WaveRig rig(Target::gfx950, dwords_of_hex(test.hex));
  std::mt19937 random(seed);
  const auto any = [&](int count) { return static_cast<int>(random() % static_cast<uint32_t>(count)); };
  for (int lane = 0; lane < kLanes; lane++)
    for (int r = 0; r < 48; r++) rig.v(r, lane) = 0;

  // A and B by block, k and row or column; of a sparse A what is not there is 0.
  const int lines = test.side * test.blocks, dense_run = test.k * lines / kLanes;
  const int run_of_a = test.is_sparse ? dense_run / 2 : dense_run;
  std::vector<double> a(static_cast<size_t>(lines) * static_cast<size_t>(test.k)), b(a.size());
  const auto at = [&](int line, int k) {
    return static_cast<size_t>(line) * static_cast<size_t>(test.k) + static_cast<size_t>(k);
  };
  for (int line = 0; line < lines; line++)
    for (int k = 0; k < test.k; k++) {
      const Code code = test.codes[static_cast<size_t>(any(static_cast<int>(test.codes.size())))];
      const int half =
          test.is_sparse ? dense_run / 2 : dense_run;  // the dense operand lies in two halves of K
      const int part = test.is_sparse ? k / (test.k / 2) : 0, in_part = test.is_sparse ? k % (test.k / 2) : k;
      b[at(line, k)] = code.value;
      set_item(rig, kB, test.bits, line + lines * (in_part / half), part * half + in_part % half, code.bits);
    }
  for (int line = 0; line < lines; line++)
    for (int n = 0; n < (test.is_sparse ? test.k / 2 : test.k); n++) {
      const Code code = test.codes[static_cast<size_t>(any(static_cast<int>(test.codes.size())))];
      int k = n, lane = line + lines * (n / run_of_a), item = n % run_of_a;
      if (test.is_sparse) {
        const int part = n / (test.k / 4), in_part = n % (test.k / 4), half = run_of_a / 2;
        lane = line + lines * (in_part / half), item = part * half + in_part % half;
        const int chosen = n % 2 == 0 ? any(2) : 2 + any(2);
        rig.v(kIndex, lane) |= static_cast<uint32_t>(chosen) << (2 * item);
        k = 4 * (n / 2) + chosen;
      }
      a[at(line, k)] = code.value;
      set_item(rig, kA, test.bits, lane, item, code.bits);
    }
  // Scales: of a line and 32 values of k, 2^(byte - 127), or NaN.
  if (test.is_scaled)
    for (int lane = 0; lane < kLanes; lane++)
      for (int which = 0; which < 2; which++)
        rig.v(kIndex + which, lane) = any(16) == 0 ? 255 : static_cast<uint32_t>(125 + any(5));
  const auto scale = [&](int which, int line, int group) {
    const uint32_t byte = rig.v(kIndex + which, line + test.side * group);
    return byte == 255 ? std::nan("") : std::exp2(static_cast<int>(byte) - 127);
  };
  const int words = test.sum == Sum::f64 ? 2 : 1, values = test.blocks * test.side * test.side / kLanes;
  for (int lane = 0; lane < kLanes; lane++)
    for (int value = 0; value < values; value++) {
      const int c = any(64) - 32;
      const auto wide = std::bit_cast<uint64_t>(static_cast<double>(c));
      uint32_t* const to[] = {&rig.v(kD + words * value, lane), &rig.v(kD + words * value + words - 1, lane)};
      *to[0] =
          test.sum == Sum::i32 ? static_cast<uint32_t>(c) : std::bit_cast<uint32_t>(static_cast<float>(c));
      if (words == 2) *to[0] = static_cast<uint32_t>(wide), *to[1] = static_cast<uint32_t>(wide >> 32);
    }
  std::vector<double> expected;
  for (int block = 0; block < test.blocks; block++)
    for (int row = 0; row < test.side; row++)
      for (int column = 0; column < test.side; column++) {
        double sum = sum_of(rig, test, held(test, block, row, column));
        for (int k = 0; k < test.k; k++) {
          const double factor = test.is_scaled ? scale(0, row, k / 32) * scale(1, column, k / 32) : 1;
          sum += a[at(block * test.side + row, k)] * b[at(block * test.side + column, k)] * factor;
        }
        expected.push_back(sum);
      }

  ASSERT_EQ(rig.run(), Exit::ended) << test.hex;
  size_t next = 0;
  int wrong = 0;
  for (int block = 0; block < test.blocks; block++)
    for (int row = 0; row < test.side; row++)
      for (int column = 0; column < test.side; column++) {
        const double want = expected[next++], got = sum_of(rig, test, held(test, block, row, column));
        if (got == want || (std::isnan(got) && std::isnan(want)) || ++wrong > 4) continue;
        ADD_FAILURE() << test.hex << " [" << block << "][" << row << "][" << column << "]: " << got
                      << ", not " << want;
      }
}

TEST(Matrices, AreProducts) {
  for (const Case& test : cases())
    for (uint32_t seed = 1; seed <= 4; seed++) check(test, seed);
}

}  // namespace
}  // namespace morgana::device
