// Facts of functions in text form.
#include "device/lift/facts.h"

#include <gtest/gtest.h>

#include "device/lift/text.h"
#include "device/lift/verify.h"

namespace morgana::device::lift {
namespace {

// "values" of a block that begins with v0 = lane number + something, s2 and s3 unknown, EXEC full.
std::string facts_of(const std::string& values, ValueId of) {
  const std::string text =
      "wave64\nblock0() @0\n"
      "  %0 = input.lanes32 v0 @0\n"
      "  %1 = input.s32 s2 @0\n"
      "  %2 = input.s64 s4 @0\n"
      "  %3 = input.s64 exec @0\n"
      "  %4 = input.memory memory @0\n"
      "  %5 = constant.s32 2 @0\n"
      "  %6 = splat.lanes32 %1 @0\n" +
      values + "  %90 = exit (memory=%4) @0\n  end %90 @0\n";
  const auto function = parse(text);
  if (!function.ok()) return function.error().message;
  if (std::string wrong = verify(*function); !wrong.empty()) return wrong;
  const auto facts =
      find_facts(*function, {{kVector, Kind::lanes32, affine_fact(1, 0, 1023, Kind::lanes32)},
                             {isa::kExecLo, Kind::s64, constant_fact(~uint64_t{0}, Kind::s64)}});
  return describe(facts[of], (*function)[of].kind);
}

TEST(Facts, OfSums) {
  EXPECT_EQ(facts_of("  %7 = add.lanes32 %0, %6 @0\n", 7), "stride 1");
  EXPECT_EQ(facts_of("  %7 = subtract.lanes32 %6, %0 @0\n", 7), "stride -1");
  EXPECT_EQ(facts_of("  %7 = add.lanes32 %6, %6 @0\n", 7), "uniform");
  EXPECT_EQ(facts_of("  %7 = add.lanes32 %0, %0 @0\n", 7), "stride 2, 0 to 2046");
}

TEST(Facts, OfAddresses) {
  constexpr const char* kScaled = "  %7 = splat.lanes32 %5 @0\n  %8 = shift_left.lanes32 %0, %7 @0\n";
  EXPECT_EQ(facts_of(kScaled, 8), "stride 4, 0 to 4092, multiple of 4");
  EXPECT_EQ(facts_of(std::string(kScaled) + "  %9 = to_64.lanes64 %8 @0\n  %10 = splat.lanes64 %2 @0\n"
                                            "  %11 = add.lanes64 %9, %10 @0\n",
                     11),
            "stride 4");
  // An index of which nothing is known may wrap on the way to 64 bits.
  EXPECT_EQ(facts_of("  %7 = add.lanes32 %0, %6 @0\n  %8 = to_64.lanes64 %7 @0\n", 8), "0 to 4294967295");
  EXPECT_EQ(facts_of(std::string(kScaled) + "  %9 = shift_right.lanes32 %8, %7 @0\n", 9),
            "stride 1, 0 to 1023");
}

TEST(Facts, OfBits) {
  EXPECT_EQ(facts_of("  %7 = constant.s32 60 @0\n  %8 = and.s32 %1, %7 @0\n", 8), "0 to 60, multiple of 4");
  EXPECT_EQ(
      facts_of("  %7 = constant.s32 1023 @0\n  %8 = splat.lanes32 %7 @0\n  %9 = and.lanes32 %0, %8 @0\n", 9),
      "stride 1, 0 to 1023");
  EXPECT_EQ(
      facts_of("  %7 = constant.s32 4096 @0\n  %8 = splat.lanes32 %7 @0\n  %9 = or.lanes32 %0, %8 @0\n", 9),
      "stride 1, 4096 to 5119");
}

TEST(Facts, OfMasks) {
  EXPECT_EQ(facts_of("  %7 = mask.mask %3 @0\n", 7), "full");
  EXPECT_EQ(facts_of("  %7 = mask.mask %3 @0\n  %8 = merge.lanes32 %7, %0, %6 @0\n", 8),
            "stride 1, 0 to 1023");
  EXPECT_EQ(facts_of("  %7 = mask.mask %2 @0\n  %8 = less.mask %0, %6 @0\n  %9 = and.mask %7, %8 @0\n", 9),
            "subset of %7");
  EXPECT_EQ(facts_of("  %7 = less.mask %6, %6 @0\n", 7), "full or empty");
  EXPECT_EQ(facts_of("  %7 = mask.mask %2 @0\n  %8 = merge.lanes32 %7, %0, %6 @0\n", 8), "");
  EXPECT_EQ(
      facts_of("  %7 = constant.s32 1024 @0\n  %8 = splat.lanes32 %7 @0\n  %9 = less.mask %0, %8 @0\n", 9),
      "full");
}

TEST(Facts, OfFunctions) {
  EXPECT_EQ(facts_of("  %7 = function.lanes32 v_mul_f32 %6, %6 @0\n", 7), "uniform");
  EXPECT_EQ(facts_of("  %7 = function.lanes32 v_mul_f32 %6, %0 @0\n", 7), "");
  EXPECT_EQ(facts_of("  %7 = function.lanes32 v_mbcnt_lo_u32_b32 %6, %6 @0\n", 7), "");
}

TEST(Facts, OfLoops) {
  // v1 rises by 8 on every turn and stays as far apart as v0; s3 counts down.
  const auto function = parse(R"(wave64
block0() @0
  %0 = input.lanes32 v0 @0
  %1 = input.s32 s3 @0
  %2 = input.memory memory @0
  jump block1(%0, %1) @0
block1(%3.lanes32 v1, %4.s32 s3) @0
  %5 = constant.s32 8 @0
  %6 = splat.lanes32 %5 @0
  %7 = add.lanes32 %3, %6 @0
  %8 = constant.s32 1 @0
  %9 = subtract.s32 %4, %8 @0
  %10 = constant.s32 0 @0
  %11 = equal.bit %9, %10 @0
  branch %11 block2() block1(%7, %9) @0
block2() @0
  %12 = exit (v1=%3, memory=%2) @0
  end %12 @0
)");
  ASSERT_TRUE(function.ok()) << function.error().message;
  ASSERT_EQ(verify(*function), "");
  const auto facts =
      find_facts(*function, {{kVector, Kind::lanes32, affine_fact(4, 0, 4092, Kind::lanes32)}});
  EXPECT_EQ(describe(facts[3], Kind::lanes32), "stride 4");
  EXPECT_EQ(describe(facts[7], Kind::lanes32), "stride 4");
  EXPECT_EQ(describe(facts[4], Kind::s32), "");
}

}  // namespace
}  // namespace morgana::device::lift
