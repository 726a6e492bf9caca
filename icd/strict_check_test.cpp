// --check=memory:aligned and --check=barrier:strict: what works on AMD's GPUs, and portable programs do not
// do. MORGANA_CHECK comes from the environment.
#include "icd/check_support.h"

namespace morgana::icd::test {
namespace {

class StrictCheck : public Check {
 protected:
  // Of 128 work-items in two groups of 64, on any target without a part of a wave.
  std::string run(const std::string& body) {
    const std::string source =
        "kernel void k(global int* to) { const int i = get_global_id(0), l = get_local_id(0); local int "
        "mine[80]; mine[l] = 0; " +
        body + "}";
    return check(source.c_str(), 512, 128, 64);
  }
};

TEST_F(StrictCheck, AnAddressThatIsNoMultipleIsNamed) {
  for (const char* body : {"*(global int*)((global char*)to + 8 * i + (i == 77)) = 1;",
                           "*(global short*)((global char*)to + 8 * i + (i == 77)) = 1;",
                           "*(global long*)((global char*)to + 8 * i + 2 * (i == 77)) = 1;",
                           "to[i] = *(global int*)((global char*)to + 1024 + 8 * i + 3 * (i == 77));"}) {
    const std::string report = run(body);
    EXPECT_TRUE(has(report, "misaligned-access: kernel 'k'")) << body << report;
    EXPECT_TRUE(has(report, "work-item   (77, 0, 0)")) << body << report;
    EXPECT_TRUE(has(report, "is no multiple of")) << body << report;
  }
}

TEST_F(StrictCheck, AlignedAccessesAreClean) {
  EXPECT_EQ(run("to[i] = 1; ((global char*)to)[1025 + i] = 1; ((global short*)to)[641 + i] = 1;"), "");
  // Compilers move several dwords at once where one is aligned.
  EXPECT_EQ(run("vstore4(vload4(i / 2, to + 1), i / 2, to + 3);"), "");
  EXPECT_EQ(run("global uchar* b = (global uchar*)to; uchar r = b[3 * i], g = b[3 * i + 1]; b[3 * i + 1] = "
                "r; b[3 * i] = g;"),
            "");
  EXPECT_EQ(run("vstore3(vload3(i, (global ushort*)to + 1), i, (global ushort*)to + 1);"), "");
  EXPECT_EQ(run("uchar4 four = vload4(i, (global uchar*)to + 4); to[i] = four.x + four.w;"), "");
}

TEST_F(StrictCheck, ABarrierThatAPartOfAWaveComesToIsNamed) {
  // Nothing is behind it.
  const std::string report = run("if (i != 77) barrier(CLK_LOCAL_MEM_FENCE);");
  EXPECT_TRUE(has(report, "barrier-divergence: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "against     work-item that does not come to it")) << report;
  EXPECT_TRUE(has(report, "work-item   (77, 0, 0)")) << report;
  EXPECT_TRUE(has(report, "not all work-items of the wave come to the barrier")) << report;
}

TEST_F(StrictCheck, ABarrierBehindAReturnIsNamed) {
  const std::string report = run("if (i == 77) return; to[i] = 1; barrier(CLK_LOCAL_MEM_FENCE); to[i] = 2;");
  EXPECT_TRUE(has(report, "barrier-divergence: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "work-item   (77, 0, 0)")) << report;
}

TEST_F(StrictCheck, ABarrierBehindTheReturnOfAWaveIsNamed) {
  const std::string report = check(
      "kernel void k(global int* to) { if (get_local_id(0) < 64) return; barrier(CLK_LOCAL_MEM_FENCE); }",
      512, 256, 128);
  EXPECT_TRUE(has(report, "have ended without the barrier")) << report;
}

TEST_F(StrictCheck, BarriersOfAllWorkItemsAreClean) {
  EXPECT_EQ(run("for (int n = 0; n < 3; n++) { if (i != n) mine[l] += n; barrier(CLK_LOCAL_MEM_FENCE); } "
                "to[i] = mine[l];"),
            "");
  // The last wave of the group has a part of its lanes.
  EXPECT_EQ(check("kernel void k(global int* to) { barrier(CLK_LOCAL_MEM_FENCE); to[get_global_id(0)] = 1; }",
                  512, 140, 70),
            "");
}

}  // namespace
}  // namespace morgana::icd::test
