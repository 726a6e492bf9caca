// Programs under other orders of work-groups and waves (MORGANA_SCHEDULE), and `morgana explore`. The
// programs are tests of this file that run only when they are asked for by name.
#include <unistd.h>

#include "icd/replay_support.h"

namespace morgana::icd::test {
namespace {

class Programs : public OpenCl {
 protected:
  // Executes kernel `k` on a buffer of zeros, whose contents it prints.
  void run(const char* source, size_t items, size_t group) {
    cl_program program = make_program(source, "-g -cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, "k");
    constexpr size_t kInts = 64;
    const std::vector<cl_int> zeros(kInts);
    cl_mem buffer =
        make_buffer(kInts * sizeof(cl_int), CL_MEM_COPY_HOST_PTR, const_cast<cl_int*>(zeros.data()));
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
    if (clFinish(queue) == CL_SUCCESS)
      for (const cl_int value : read<cl_int>(buffer, kInts)) std::printf("%d ", value);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  }
};

TEST_F(Programs, DISABLED_InOrder) {
  run("kernel void k(global int* p) { if (get_local_id(0) % 64 == 0) p[atomic_inc(p) + 1] = get_global_id(0) "
      "/ 64; }",
      64 * 40, 128);
}
TEST_F(Programs, DISABLED_LaunchesAnotherUnderSeed3) {
  const char* const source = "kernel void k(global int* p) { p[get_global_id(0) % 64] = 5; }";
  run(source, 64, 64);
  if (std::string(std::getenv("MORGANA_SCHEDULE")) == "seed:3") run(source, 64, 64);
}
TEST_F(Programs, DISABLED_InAnyOrder) {
  run("kernel void k(global int* p) { atomic_add(p + get_global_id(0) % 64, (int)get_global_id(0)); }",
      64 * 40, 128);
}
TEST_F(Programs, DISABLED_MeetsAtBarriers) {
  run(R"(kernel void k(global int* p) {
  local int t[256];
  size_t l = get_local_id(0);
  t[l] = l;
  for (int step = 128; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < step) t[l] += t[l + step];
  }
  if (l == 0) p[get_group_id(0)] = t[0];
})",
      256 * 20, 256);
}
TEST_F(Programs, DISABLED_LosesUpdates) {
  run("kernel void k(global int* p) { if (get_local_id(0) == 0) p[0] += 1; }", 64 * 40, 64);
}
TEST_F(Programs, DISABLED_WaitsForALaterGroup) {
  run(R"(kernel void k(global int* p) {
  if (get_group_id(0) == 0)
    while (*(volatile global int*)p == 0)
      ;
  if (get_group_id(0) == 5) atomic_inc(p);
})",
      64 * 8, 64);
}

std::string program(const std::string& name) {
  return "/proc/" + std::to_string(getpid()) +
         "/exe --gtest_also_run_disabled_tests --gtest_filter=Programs.DISABLED_" + name;
}
Ended under(const std::string& schedule, const std::string& name) {
  return run_command("MORGANA_SCHEDULE=" + schedule + " " MORGANA_TOOL " run -- " + program(name));
}
// The line that the program printed, without the time that the test took.
std::string printed(const Ended& ended) { return ended.output.substr(0, ended.output.find("[       OK")); }

TEST(Schedule, OneSeedIsOneOrder) {
  const std::string first = printed(under("seed:7", "InOrder"));
  for (int i = 0; i < 19; ++i) EXPECT_EQ(printed(under("seed:7", "InOrder")), first);
  EXPECT_NE(printed(under("seed:8", "InOrder")), first);
  EXPECT_NE(printed(under("pct:3", "InOrder")), first);
  EXPECT_EQ(printed(under("pct:3:4", "InOrder")), printed(under("pct:3:4", "InOrder")));
}

TEST(Schedule, ReverseBeginsWithTheLastWaveOfTheLastGroup) {
  EXPECT_TRUE(has(under("reverse", "InOrder").output, "40 39 38 37 36"))
      << under("reverse", "InOrder").output;
}

TEST(Schedule, OthersComeBetweenALoadAndItsStore) {
  const std::string usual = printed(under("resident:1", "LosesUpdates"));
  EXPECT_TRUE(has(usual, "40 0 0")) << usual;
  const std::string one = printed(under("seed:1", "LosesUpdates"));
  EXPECT_NE(one, usual);
  EXPECT_NE(printed(under("pct:500", "LosesUpdates")), usual);
  const Ended explored = run_command(MORGANA_TOOL " explore -n 20 --out " + ::testing::TempDir() + " -- " +
                                     program("LosesUpdates"));
  EXPECT_EQ(explored.status, 1) << explored.output;
}

TEST(Schedule, KernelsThatDoNotDependOnTheOrderComeOutAlike) {
  for (const char* name : {"InAnyOrder", "MeetsAtBarriers"}) {
    const std::string usual = printed(under("", name));
    for (const char* order : {"seed:1", "seed:2", "reverse", "pct:4", "resident:1"})
      EXPECT_EQ(printed(under(order, name)), usual) << name << order;
  }
}

TEST(Schedule, ResidentNamesTheLineThatWaitsForAGroupThatCannotBegin) {
  for (const char* order : {"seed:1", "reverse", "pct:2", "resident:2"})
    EXPECT_FALSE(has(under(order, "WaitsForALaterGroup").output, "cancelled")) << order;
  const Ended alone = under("resident:1", "WaitsForALaterGroup");
  EXPECT_TRUE(has(alone.output, "7 of 8 have not begun")) << alone.output;
  EXPECT_TRUE(has(alone.output, "<source>:3,")) << alone.output;
}

TEST(Schedule, ExploreEndsWithTwoCapsules) {
  const std::string folder = ::testing::TempDir() + "/explore" + std::to_string(getpid());
  const std::string explore = MORGANA_TOOL " explore -n 5 --out " + folder + " -- ";
  const Ended found = run_command(explore + program("InOrder"));
  EXPECT_EQ(found.status, 1) << found.output;
  EXPECT_TRUE(has(found.output, "differs: seeds 1 and 2, dispatch 1")) << found.output;
  const std::string one = folder + "/seed1-0001-k.mgd", two = folder + "/seed2-0001-k.mgd";
  EXPECT_EQ(replay(one, "MORGANA_SCHEDULE=seed:1").status, 0);
  EXPECT_EQ(replay(two, "MORGANA_SCHEDULE=seed:2").status, 0);
  EXPECT_EQ(replay(two, "MORGANA_SCHEDULE=seed:1").status, 1);
  // What an earlier run found stays.
  const auto size = fs::file_size(one);
  fs::resize_file(one, 1);
  EXPECT_EQ(run_command("TMPDIR=" + folder + " " + explore + program("InOrder")).status, 1);
  EXPECT_EQ(fs::file_size(one), 1u);
  EXPECT_EQ(fs::file_size(folder + "/seed1-0001-k.2.mgd"), size);
  EXPECT_TRUE(fs::exists(folder + "/seed2-0001-k.2.mgd"));
  fs::rename(folder + "/seed1-0001-k.2.mgd", one);
  // A capsule alone.
  EXPECT_EQ(run_command(explore + one).status, 1);
  const Ended alike = run_command(explore + program("MeetsAtBarriers"));
  EXPECT_EQ(alike.status, 0) << alike.output;
  EXPECT_EQ(run_command(explore + "true").status, 2);
  // Ended from outside it leaves nothing in TMPDIR.
  const std::string own = folder + "/own";
  fs::create_directories(own);
  EXPECT_EQ(run_command("TMPDIR=" + own + " " + explore + "sh -c 'kill -TERM $PPID; exec sleep 20'").status,
            2);
  EXPECT_TRUE(fs::is_empty(own));
  fs::remove_all(folder);
}

TEST(Schedule, ExploreSaysThatTheNumberOfDispatchesDiffers) {
  const Ended ended = run_command(MORGANA_TOOL " explore -n 5 -- " + program("LaunchesAnotherUnderSeed3"));
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(has(ended.output, "under seed 1 there are 1 dispatches, under seed 3 2; the first 1 are alike"))
      << ended.output;
}

// The variable ends the folder at a colon.
TEST(Schedule, ExploreWorksInAFolderWithAColon) {
  const std::string folder = ::testing::TempDir() + "/with:colon" + std::to_string(getpid());
  fs::create_directories(folder);
  const Ended ended =
      run_command("TMPDIR=" + folder + " " MORGANA_TOOL " explore -n 2 -- " + program("MeetsAtBarriers"));
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_EQ(run_command("MORGANA_RECORD=" + folder + ":none " + MORGANA_TOOL " run -- " + program("InOrder"))
                .status,
            0);
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace morgana::icd::test
