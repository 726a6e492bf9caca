// Which arguments stores follow. s[2:3] points to the arguments; s4 and s5 hold dwords 6 and 7.
#include "device/lift/stores.h"

#include <gtest/gtest.h>

#include "device/lift/text.h"
#include "device/lift/verify.h"

namespace morgana::device::lift {
namespace {

// The dwords of each set, "0 1|4 5"; "?": nothing is known.
std::string stores_of(const std::string& rest) {
  const std::string text =
      "wave64\nblock0() @0\n"
      "  %0 = input.s64 s2 @0\n"
      "  %1 = input.memory memory @0\n"
      "  %2 = input.s64 exec @0\n"
      "  %3 = input.lanes64 v0 @0\n"
      "  %4 = access s_load_dwordx4 constant load b32x4 +0 (%1, %0) @0\n"
      "  %5 = part.s32 0 %4 @0\n"
      "  %6 = part.s32 1 %4 @0\n"
      "  %7 = part.s32 2 %4 @0\n"
      "  %8 = part.s32 3 %4 @0\n"
      "  %9 = join.s64 %5, %6 @0\n"
      "  %10 = splat.lanes64 %9 @0\n"
      "  %11 = join.s64 %7, %8 @0\n"
      "  %12 = splat.lanes64 %11 @0\n"
      "  %13 = mask.mask %2 @0\n"
      "  %14 = to_32.lanes32 %3 @0\n" +
      rest;
  const auto function = parse(text);
  if (!function.ok()) return function.error().message;
  if (std::string wrong = verify(*function); !wrong.empty()) return wrong;
  const Stores stores = find_stores(*function, {2, 4, 2, 6});
  if (!stores.is_known) return "?";
  std::string all;
  for (const ArgumentSet& followed : stores.followed) {
    if (&followed != stores.followed.data()) all += "|";
    for (size_t n = 0; n < followed.size(); n++)
      if (followed.test(n)) all += (all.empty() || all.back() == '|' ? "" : " ") + std::to_string(n);
  }
  return all;
}
std::string store(int memory, int address, int done, int mask = 13) {
  const auto name = [](int id) { return "%" + std::to_string(id); };
  return "  " + name(done) + " = access global_store_dword global store b32x1 +0 (" + name(memory) + ", " +
         name(mask) + ", " + name(address) + ", %14) @10\n";
}
std::string end(int memory) {
  return "  %99 = exit (memory=%" + std::to_string(memory) + ") @20\n  end %99 @20\n";
}

TEST(Stores, FollowThePointerAndTheIndex) {
  EXPECT_EQ(stores_of("  %20 = add.lanes64 %10, %3 @4\n" + store(4, 20, 21) + end(21)), "0 1");
  EXPECT_EQ(stores_of(store(4, 10, 20) + store(20, 12, 21) + end(21)), "0 1|2 3");
  EXPECT_EQ(stores_of("  %20 = input.s32 s5 @0\n  %21 = splat.lanes32 %20 @4\n"
                      "  %22 = to_64.lanes64 %21 @4\n  %23 = add.lanes64 %22, %12 @4\n" +
                      store(4, 23, 24) + end(24)),
            "2 3 7");
}

TEST(Stores, DoNotFollowWhatIsLoadedFromThere) {
  EXPECT_EQ(stores_of("  %20 = access global_load_dword global load b32x1 +0 (%4, %13, %10) @4\n"
                      "  %21 = part.lanes32 0 %20 @4\n  %22 = to_64.lanes64 %21 @4\n"
                      "  %23 = add.lanes64 %22, %12 @4\n" +
                      store(20, 23, 24) + end(24)),
            "2 3");
}

TEST(Stores, AreUnknownWhereAPointerIsLoaded) {
  EXPECT_EQ(stores_of("  %20 = access global_load_dwordx2 global load b32x2 +0 (%4, %13, %10) @4\n"
                      "  %21 = part.lanes32 0 %20 @4\n  %22 = part.lanes32 1 %20 @4\n"
                      "  %23 = join.lanes64 %21, %22 @4\n  %24 = input.s64 vcc @4\n  %25 = mask.mask %24 @4\n"
                      "  %26 = select.lanes64 %25, %23, %12 @4\n" +
                      store(20, 26, 27) + end(27)),
            "?");
}
TEST(Stores, AreUnknownWhereTheProgramsVariablesAre) {
  EXPECT_EQ(stores_of("  %20 = function.s64 s_getpc_b64 @4\n  %21 = splat.lanes64 %20 @4\n" +
                      store(4, 21, 22) + end(22)),
            "?");
}

TEST(Stores, FollowTheArgumentsBehindASum) {
  const std::string load =
      "  %21 = add.s64 %0, %20 @4\n"
      "  %22 = access s_load_dwordx2 constant load b32x2 +8 (%4, %21) @4\n"
      "  %23 = part.s32 0 %22 @4\n  %24 = part.s32 1 %22 @4\n  %25 = join.s64 %23, %24 @4\n"
      "  %26 = splat.lanes64 %25 @4\n" +
      store(22, 26, 27) + end(27);
  EXPECT_EQ(stores_of("  %20 = constant.s64 32 @4\n" + load), "10 11");
  // By an index: any of them.
  EXPECT_EQ(stores_of("  %19 = input.s32 s9 @4\n  %20 = to_64.s64 %19 @4\n" + load),
            std::to_string(kOtherArguments));
}

TEST(Stores, FollowBothWhereEitherMayBe) {
  EXPECT_EQ(stores_of("  %20 = input.s64 vcc @4\n  %21 = mask.mask %20 @4\n"
                      "  %22 = select.lanes64 %21, %10, %12 @4\n" +
                      store(4, 22, 23) + end(23)),
            "0 1 2 3");
}

// What a register held before it was written, in other lanes than those that store.
TEST(Stores, FollowOldValuesOfLanesThatStore) {
  const std::string masks =
      "  %20 = input.s64 vcc @4\n  %21 = and.s64 %2, %20 @4\n  %22 = mask.mask %21 @4\n"
      "  %24 = or.s64 %21, %2 @4\n  %25 = mask.mask %24 @4\n";
  EXPECT_EQ(stores_of(masks + "  %26 = merge.lanes64 %13, %10, %12 @4\n" + store(4, 26, 27) + end(27)),
            "0 1");
  EXPECT_EQ(stores_of(masks + "  %26 = merge.lanes64 %13, %10, %12 @4\n" + store(4, 26, 27, 22) + end(27)),
            "0 1");
  EXPECT_EQ(stores_of(masks + "  %26 = merge.lanes64 %22, %10, %12 @4\n" + store(4, 26, 27, 22) + end(27)),
            "0 1");
  EXPECT_EQ(stores_of(masks + "  %26 = merge.lanes64 %22, %10, %12 @4\n" + store(4, 26, 27) + end(27)),
            "0 1 2 3");
  // EXEC as it was, once more.
  EXPECT_EQ(stores_of(masks + "  %26 = merge.lanes64 %13, %10, %12 @4\n" + store(4, 26, 27, 25) + end(27)),
            "0 1");
}

TEST(Stores, FollowLoops) {
  EXPECT_EQ(stores_of("  jump block1(%10, %4) @8\nblock1(%40.lanes64 v4, %41.memory memory) @c\n" +
                      store(41, 40, 42) +
                      "  %43 = add.lanes64 %40, %3 @c\n  %44 = input.s32 s9 @c\n"
                      "  %45 = equal.bit %5, %7 @c\n"
                      "  branch %45 block1(%12, %42) block2() @c\nblock2() @20\n" +
                      end(42)),
            "0 1 2 3");
}

TEST(Stores, FollowScratch) {
  EXPECT_EQ(
      stores_of("  %20 = to_32.lanes32 %10 @4\n  %21 = constant.s32 0 @4\n  %22 = splat.lanes32 %21 @4\n"
                "  %23 = access scratch_store_dword scratch store b32x1 +0 (%4, %13, %22, %20) @4\n"
                "  %24 = access scratch_load_dword scratch load b32x1 +4 (%23, %13, %22) @4\n"
                "  %25 = part.lanes32 0 %24 @4\n  %26 = to_64.lanes64 %25 @4\n" +
                store(24, 26, 27) + end(27)),
      "0 1");
}

TEST(Stores, AreUnknownWhereCodeIsCalled) {
  EXPECT_EQ(stores_of(store(4, 10, 20) +
                      "  %30 = exit (memory=%20, callee=%9) @18\n  call %30 block1() @18\n"
                      "block1() @1c\n  %31 = input.memory memory @1c\n" +
                      end(31)),
            "?");
}

}  // namespace
}  // namespace morgana::device::lift
