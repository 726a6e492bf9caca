// What a program is when it was built in parts (parts.h).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "codeobj/code_object.h"
#include "runtime/compiler/containment.h"
#include "runtime/compiler/test_support.h"

namespace morgana::runtime {
namespace {

// Kernels "k0", "k1", … that are large enough for parts of their own; `extra` is a statement of each.
std::string large_program(int kernels, const std::string& head = "", const std::string& extra = "") {
  std::string source = head;
  for (int k = 0; k < kernels; ++k) {
    source += fmt::format(
        "kernel void k{}(global uint* data) {{\n  uint x = data[get_global_id(0)], y = {};\n", k, k);
    for (int i = 0; i < 1100; ++i) source += fmt::format("  y = y * 3u + {}u;\n", i);  // soon a constant
    source += extra + "  data[get_global_id(0)] = x + y;\n}\n";
  }
  return source;
}

codeobj::CodeObject code_object(const Built& built) {
  auto object = codeobj::CodeObject::parse(Bytes(built.object->data(), built.object->size()));
  EXPECT_TRUE(object.ok());
  return std::move(*object);
}

std::vector<std::string> kernel_names(const Built& built) {
  std::vector<std::string> names;
  const codeobj::CodeObject object = code_object(built);
  for (const auto& kernel : object.metadata().kernels) names.push_back(kernel.name);
  return names;
}

size_t count(const std::string& text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Parts, HaveOneListOfKernelsInTheOrderOfTheSource) {
  const Built built = build(large_program(3));
  ASSERT_TRUE(built.ok()) << built.log;
  EXPECT_EQ(kernel_names(built), (std::vector<std::string>{"k0", "k1", "k2"}));
  EXPECT_EQ(count(*built.object, "amdhsa.kernels"), 1u);
}

TEST(Parts, DoNotDependOnTheNumberOfThreads) {
  const std::string source = large_program(2);
  const Built many = build(source);
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const Built alone = build(source);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(many.ok() && alone.ok());
  EXPECT_EQ(*many.object, *alone.object);
}

TEST(Parts, ShareVariablesOfTheProgram) {
  const Built built = build(large_program(4, "global uint seen = 3;\nconstant uint kTable[2] = {5, 7};\n",
                                          "  seen += kTable[x & 1];\n"),
                            "-cl-std=CL2.0");
  ASSERT_TRUE(built.ok()) << built.log;
  EXPECT_EQ(kernel_names(built).size(), 4u);
  // Constants are in every part, and one of them is the program's.
  const Built constants =
      build(large_program(4, "constant uint kTable[2] = {5, 7};\n", "  x += kTable[x & 1];\n"));
  ASSERT_TRUE(constants.ok()) << constants.log;
  EXPECT_GE(count(*constants.object, std::string("\5\0\0\0\7\0\0\0", 8)), 2u);
  EXPECT_TRUE(constants.object_has("kTable"));
}

TEST(Parts, SayOnceWhatIsWrong) {
  const Built built = build(large_program(3, "",
                                          "  local uint big[100000]; big[x % 100000] = x; "
                                          "barrier(CLK_LOCAL_MEM_FENCE); x = big[(x + 1) % 100000];\n"));
  EXPECT_FALSE(built.ok());
  for (const char* kernel : {"'k0'", "'k1'", "'k2'"}) EXPECT_EQ(count(built.log, kernel), 1u) << built.log;
}

TEST(Parts, KeepNotesOfKernels) {
  const Built built = build(large_program(2) + R"(
    __attribute__((intel_reqd_sub_group_size(64))) kernel void last(global uint* data) { printf("%u", data[0]); })");
  ASSERT_TRUE(built.ok()) << built.log;
  EXPECT_EQ(count(*built.object, "amdhsa.printf"), 1u);
  EXPECT_TRUE(built.object_has("last.sub_group_size"));
  EXPECT_EQ(kernel_names(built).back(), "last");
}

TEST(Containment, ACrashOnOneOfSeveralThreadsBecomesAReason) {
  std::string reason;
  std::atomic<int> calls{0};
  EXPECT_FALSE(run_contained(
      [&] {
        if (calls++ == 1) __builtin_trap();
      },
      reason, 3));
  EXPECT_EQ(calls, 3);
  EXPECT_NE(reason, "");
  EXPECT_TRUE(run_contained([&] { ++calls; }, reason, 2));
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace morgana::runtime
