// The text form, and what the verifier says of functions that are none.
#include "device/lift/text.h"

#include <gtest/gtest.h>

#include "device/lift/verify.h"

namespace morgana::device::lift {
namespace {

// A loop: v1 = v0 + 4 * s2 as often as s3 says.
constexpr const char* kLoop = R"(wave64
block0() @0
  %0 = input.lanes32 v0 @0
  %1 = input.s32 s2 @0
  %2 = input.s32 s3 @0
  %3 = input.memory memory @0
  %4 = input.s64 exec @0
  jump block1(%0, %2) @0
block1(%5.lanes32 v1, %6.s32 s3) @0
  %7 = constant.s32 2 @0
  %8 = shift_left.s32 %1, %7 @0
  %9 = splat.lanes32 %8 @4
  %10 = add.lanes32 %5, %9 @4
  %11 = mask.mask %4 @4
  %12 = merge.lanes32 %11, %10, %5 @4
  %13 = constant.s32 -1 @8
  %14 = add.s32 %6, %13 @8
  %15 = constant.s32 0 @8
  %16 = equal.bit %14, %15 @8
  branch %16 block2(%12) block1(%12, %14) @c
block2(%17.lanes32 v1) @10
  %18 = exit (v1=%17, memory=%3) @10
  end %18 @10
)";

TEST(Text, IsReadAsItIsPrinted) {
  const auto function = parse(kLoop);
  ASSERT_TRUE(function.ok()) << function.error().message;
  EXPECT_EQ(verify(*function), "");
  EXPECT_EQ(print(*function), kLoop);
}

TEST(Text, OfAccessesAndCalls) {
  constexpr const char* kText = R"(wave32
block0() @0
  %0 = input.memory memory @0
  %1 = input.s32 exec @0
  %2 = mask.mask %1 @0
  %3 = input.lanes32 v1 @0
  %4 = access ds_read2_b32 lds load b32x1 +8 +-4 (%0, %2, %3) @0
  %5 = part.lanes32 1 %4 @0
  %6 = call ds_swizzle_b32 (%4, exec=%1, v1=%5) -> v2 v4+ @8
  %7 = part.lanes64 1 %6 @8
  %8 = exit (v4=%7, memory=%6) @10
  leave %8 @10
)";
  const auto function = parse(kText);
  ASSERT_TRUE(function.ok()) << function.error().message;
  EXPECT_EQ(verify(*function), "");
  EXPECT_EQ(print(*function), kText);
}

// The loop with one word put in another's place.
std::string with(std::string_view from, std::string_view to) {
  std::string text = kLoop;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, from.size(), to);
  const auto function = parse(text);
  return function.ok() ? verify(*function) : "read: " + function.error().message;
}

TEST(Verify, SaysWhatIsWrong) {
  EXPECT_EQ(with("add.lanes32 %5, %9", "add.lanes32 %5, %8"), "%10: mixes lanes and numbers");
  EXPECT_EQ(with("add.lanes32 %5, %9", "add.lanes64 %5, %9"), "%10: is of another kind");
  EXPECT_EQ(with("add.lanes32 %5, %9", "add.lanes32 %5"), "%10: has another number of arguments");
  EXPECT_EQ(with("add.lanes32 %5, %9", "add.lanes32 %5, %12"), "%10: %12 is not there");
  EXPECT_EQ(with("mask.mask %4", "mask.mask %1"), "%11: no mask");
  EXPECT_EQ(with("jump block1(%0, %2)", "jump block1(%0)"), "block0: gives another number of arguments");
  EXPECT_EQ(with("jump block1(%0, %2)", "jump block1(%0, %4)"), "block0: gives another kind");
  EXPECT_EQ(with("branch %16", "branch %14"), "block1: ends with another kind of value");
  EXPECT_EQ(with("block2(%12)", "block0()"), "block0: is entered, and has predecessors");
}

TEST(Text, OfWhatIsNone) {
  EXPECT_EQ(with("add.lanes32", "plus.lanes32"), "read: line 13: no operation");
  EXPECT_EQ(with("%10 = add", "%9 = add"), "read: line 13: a value is made twice");
  EXPECT_EQ(with("block2(%12)", "block7(%12)"), "read: line 23: an edge to nowhere");
  EXPECT_EQ(with("input.s32 s2", "input.s32 t2"), "read: line 4: no register");
  for (size_t length = 0; length < std::string_view(kLoop).size(); length += 7)
    (void)parse(std::string_view(kLoop).substr(0, length));
}

}  // namespace
}  // namespace morgana::device::lift
