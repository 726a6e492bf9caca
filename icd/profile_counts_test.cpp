// Kernels whose lines, LDS phases and FLOP are counted by hand: the profile says the same, exactly. Four
// waves of 64 work-items on gfx950: a wave's dwords side by side are 4 lines of 64 bytes, and one phase of 64
// banks.
#include "icd/profile_support.h"

namespace morgana::icd::test {
namespace {

// Lines: the from, the to. `w`: of one wave.
#define COUNTED(X)                                                                                           \
  /* Loads of both, a store: 3 x 4 lines a wave. A fused multiply-add. */                                    \
  X(Saxpy, "to[i] = 2.5f * from[i] + to[i];", 48, 48, 0, 0, 512)                                             \
  /* A line a lane, and 4. */                                                                                \
  X(Gathers, "to[i] = from[i * 16] * 3;", 4 * 64 + 16, 32, 0, 0, 256)                                        \
  /* Eight rows of 4 lines a wave and a store; seven sums. */                                                \
  X(SumsRows, "float x = from[i]; for (int n = 1; n < 8; ++n) x += from[n * 256 + i];\nto[i] = x;",          \
    4 * 9 * 4, 4 * 9 * 4, 0, 0, 7 * 256)                                                                     \
  /* Backwards is as good. */                                                                                \
  X(Backwards, "to[i] = from[255 - i];", 32, 32, 0, 0, 0)                                                    \
  /* Every other dword, a dword further each time: 8 or 9 lines, 284 in 32 turns; and 8 as in Backwards. */  \
  X(Wanders,                                                                                                 \
    "float x = from[i];\n#pragma unroll 1\nfor (int n = 0; n < 32; ++n) x += from[l * 2 + n];\nto[i] = x;",  \
    4 * (284 + 8), 4 * (32 * 4 + 8), 0, 0, 32 * 256)                                                         \
  /* Lanes that lie otherwise each time: the sum over n of the different l * n % 1024 / 16 is 1711. */       \
  X(Scatters,                                                                                                \
    "float x = from[i];\n#pragma unroll 1\nfor (int n = 1; n <= 40; ++n) x += from[l * n & 1023];\nto[i] = " \
    "x;",                                                                                                    \
    4 * (1711 + 8), 4 * (40 * 4 + 8), 0, 0, 40 * 256)                                                        \
  /* Bytes: one line a wave, twice. */                                                                       \
  X(Bytes, "((global char*)to)[i] = ((global char*)from)[i];", 8, 8, 0, 0, 0)                                \
  /* Four loads of 16 bytes, 64 bytes apart: each has 64 lines where 16 would do; as many stores. */         \
  X(MovesSixteen, "((global float16*)to)[i] = ((global float16*)from)[i];", 4 * 8 * 64, 4 * 8 * 16, 0, 0, 0) \
  /* 512 bytes a wave are 8 lines. */                                                                        \
  X(Doubles, "((global double*)to)[i] = fma(((global double*)from)[i], 3.0, 1.0);", 64, 64, 0, 0, 512)       \
  /* Half of the lanes: 2 lines each. */                                                                     \
  X(Halves, "if (l < 32) to[i] = from[i] * from[i];", 16, 16, 0, 0, 128)                                     \
  /* Rows of 65 dwords lie in all banks: a write and a read of one phase each. */                            \
  X(Pads, "local float t[64 * 65]; t[l * 65] = from[i]; barrier(1);\nto[i] = t[(63 - l) * 65];", 32, 32, 8,  \
    8, 0)                                                                                                    \
  /* Every other dword: two lanes a bank, written and read. */                                               \
  X(EveryOther, "local float t[128]; t[l * 2] = from[i]; barrier(1);\nto[i] = t[126 - l * 2];", 32, 32, 16,  \
    8, 0)                                                                                                    \
  /* Dwords that each lie in two banks: two phases, written and read. */                                     \
  X(Unaligned,                                                                                               \
    "typedef float u __attribute__((aligned(1))); local char t[264]; *(local u*)(t + 1 + l * 4) = "          \
    "from[i]; barrier(1);\nto[i] = *(local u*)(t + 1 + (63 - l) * 4);",                                      \
    32, 32, 16, 8, 0)                                                                                        \
  /* One dword for all lanes is one phase; written by each lane it would be a bank. */                       \
  X(Shares, "local float t[64]; t[l] = from[i]; barrier(1);\nto[i] = t[l & 1] + t[2 + (l & 1)];", 32, 32,    \
    12, 12, 256)                                                                                             \
  /* A tree: 32, 16, ... 1 lanes read two dwords and write one. 63 sums a wave, a line of the result. */     \
  X(AddsUp,                                                                                                  \
    "local float t[64]; t[l] = from[i];\nfor (int s = 32; s > 0; s /= 2) { barrier(1); if (l < s) t[l] += "  \
    "t[l + s]; }\nif (l == 0) to[get_group_id(0)] = t[0];",                                                  \
    16 + 4, 16 + 4, 4 * (1 + 6 * 3 + 1), 4 * (1 + 6 * 3 + 1), 4 * 63)

#define X(name, body, ...) PROGRAM(name, body)
COUNTED(X)
#undef X

struct Expected {
  const char* name;
  uint64_t lines, least_lines, phases, least_phases, flop;
};
constexpr Expected kExpected[] = {
#define X(name, body, ...) {#name, __VA_ARGS__},
    COUNTED(X)
#undef X
};

TEST(Profile, KernelsThatAreCountedByHand) {
  for (const Expected& one : kExpected) {
    const Profiled made = profile(one.name);
    ASSERT_EQ(made.status, 0) << made.output;
    const Counted all = counted(made, "");
    EXPECT_EQ(all["lines"], one.lines) << one.name;
    EXPECT_EQ(all["least_lines"], one.least_lines) << one.name;
    EXPECT_EQ(all["lds_phases"], one.phases) << one.name;
    EXPECT_EQ(all["least_lds_phases"], one.least_phases) << one.name;
    EXPECT_EQ(all["flop"], one.flop) << one.name;
  }
}

}  // namespace
}  // namespace morgana::icd::test
