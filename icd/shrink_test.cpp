// `morgana replay --shrink`: capsules of kernels with a planted mistake become small and keep it.
#include <fmt/format.h>

#include "icd/replay_support.h"

namespace morgana::icd::test {
namespace {

struct Planted {
  const char* name;
  const char* checks;  // empty: it ends by a fault
  const char* finding;
  const char* body;  // of a kernel of `p`, `n` (ints in it) and `i`, at line 2
  size_t ints, items, group;
};

constexpr Planted kPlanted[] = {
    {"behind_the_end", "memory", "out-of-bounds", "p[i] = 7;", 100, 128, 64},
    {"wild_pointer", "", "memory violation", "if (p[i] == 70000) *(global int*)(p[i] * 0x100000000L) = 5;",
     1 << 17, 1 << 17, 256},
    {"bad_index", "", "memory violation", "p[p[i] == 99999 ? 1 << 28 : i] += 1;", 1 << 17, 1 << 17, 128},
    {"groups_race", "race", "race", "p[i % 1000] = i;", 1 << 14, 1 << 14, 64},
    {"no_barrier", "race", "race", "local int t[256]; t[l] = p[i]; p[i] = t[255 - l];", 1 << 14, 1 << 14,
     256},
    {"diverged", "barrier", "barrier-divergence", "if (p[i] % 256 < 200) barrier(1); p[i] = 3;", 1 << 14,
     1 << 14, 256},
    {"unset_local", "init", "uninitialized",
     "local int t[64]; if (l < 60) t[l] = p[i]; barrier(1); if (t[(l + p[i]) % 64] > 3) p[i] = 1;", 1 << 14,
     1 << 14, 64},
    {"behind_local", "memory", "lds-out-of-bounds",
     "local int t[64]; t[l] = i; barrier(1); p[i] = t[l + (p[i] == 12345 ? 100000 : 0)];", 1 << 16, 1 << 14,
     64},
    {"trap", "", "trap", "if (p[i] == 31000) __builtin_trap(); p[i] = 1;", 1 << 15, 1 << 15, 64},
    {"chases", "", "memory violation",
     "int at = i; for (int k = 0; k < 8; ++k) at = p[at] * 3 % n; if (at > 60000) p[(long)at << 24] = 1;",
     1 << 16, 1 << 12, 64},
};

TEST_F(Replay, ShrunkCapsulesKeepTheirFinding) {
  int small = 0;
  for (const Planted& one : kPlanted) {
    const std::string source =
        "kernel void " + std::string(one.name) +
        "(global int* p) {\n size_t i = get_global_id(0), l = get_local_id(0); const int n = " +
        std::to_string(one.ints) + "; " + one.body + "\n}";
    cl_program program = make_program(source.c_str(), "-g -cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, one.name);
    std::vector<cl_int> values(one.ints);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<cl_int>(i);
    cl_mem buffer = make_buffer(one.ints * sizeof(cl_int), CL_MEM_COPY_HOST_PTR, values.data());
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    testing::internal::CaptureStderr();
    clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one.items, &one.group, 0, nullptr, nullptr);
    clFinish(queue);
    testing::internal::GetCapturedStderr();
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);

    const std::vector<std::string> files = capsules(one.name);
    ASSERT_EQ(files.size(), 1u) << one.name;
    const std::string to = folder + "/small",
                      check = *one.checks == 0 ? "" : "--check=" + std::string(one.checks) + " ";
    const Ended made = replay(fmt::format("--shrink {}-o {} {}", check, to, files[0]));
    ASSERT_EQ(made.status, 0) << one.name << made.output;
    const Ended again = replay(check + to);
    EXPECT_EQ(again.status, *one.checks == 0 ? 0 : 1) << one.name << again.output;
    for (const char* part : {one.finding, "<source>:2", "equal: ", one.name})
      EXPECT_TRUE(has(again.output, part)) << part << "\n" << again.output;
    // It is the same work-item's, not one that zeros have made.
    const std::string before = replay(check + files[0]).output;
    const size_t who = before.find("  work-item");
    ASSERT_NE(who, std::string::npos) << before;
    EXPECT_TRUE(has(again.output, before.substr(who, before.find('\n', who) - who).c_str()))
        << before << again.output;
    const double times =
        static_cast<double>(fs::file_size(files[0])) / static_cast<double>(fs::file_size(to));
    std::printf("%-16s %8zu bytes, %7zu shrunk, %.0f times less; %s", one.name, fs::file_size(files[0]),
                fs::file_size(to), times, made.output.substr(made.output.find("shrunk:")).c_str());
    if (times >= 10) small++;
  }
  EXPECT_GE(small, 8);
}

TEST_F(Replay, WithoutAFindingNothingIsShrunk) {
  run_on_buffer("kernel void good(global int* p) { p[get_global_id(0)] += 1; }", "good", 64, 64, 64);
  const std::string file = capsules("good").at(0), to = folder + "/none";
  for (const char* words : {"--shrink ", "--shrink --check=all "}) {
    const Ended ended = replay(fmt::format("{}{} -o {}", words, file, to));
    EXPECT_EQ(ended.status, 2) << ended.output;
    EXPECT_TRUE(has(ended.output, "that could be kept") || has(ended.output, "no fault to keep"))
        << ended.output;
  }
  EXPECT_FALSE(fs::exists(to));
  EXPECT_EQ(replay("-o " + to + " " + file).status, 2);
  EXPECT_EQ(replay("--shrink --compare " + file + " " + file).status, 2);
}

}  // namespace
}  // namespace morgana::icd::test
