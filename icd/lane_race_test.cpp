// --check=race:lanes: work-items of one wave are threads, too. MORGANA_CHECK comes from the environment.
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class LaneRace : public OpenCl {
 protected:
  std::string check(const char* source) {
    cl_program program = make_program(source);
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem buffer = make_buffer(1024);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    const size_t items = 16;
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
              CL_SUCCESS);
    clFinish(queue);
    std::string report = testing::internal::GetCapturedStderr();
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return report;
  }
};

constexpr const char* kNeighbour = R"(kernel void k(global int* to) {
  local int part[16];
  int i = get_local_id(0);
  part[i] = to[i];
  BARRIER;
  to[i + 32] = part[(i + 1) % 16];
})";

std::string with(const char* barrier) {
  return "#define BARRIER " + std::string(barrier) + "\n" + kNeighbour;
}

TEST_F(LaneRace, WorkItemsOfOneWaveRace) {
  const std::string report = check(with("").c_str());
  EXPECT_NE(report.find("morgana: race: kernel 'k'"), std::string::npos) << report;
  EXPECT_NE(report.find("two work-items of one wave"), std::string::npos) << report;
}

TEST_F(LaneRace, ABarrierBetweenThemIsClean) {
  EXPECT_EQ(check(with("barrier(CLK_LOCAL_MEM_FENCE)").c_str()), "");
}

// LLVM leaves such a barrier out.
TEST_F(LaneRace, ABarrierOfAGroupThatIsOneWaveIsClean) {
  EXPECT_EQ(check(R"(kernel __attribute__((reqd_work_group_size(16, 1, 1))) void k(global int* to) {
    local int part[16];
    int i = get_local_id(0);
    part[i] = to[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i + 32] = part[i ^ 1];
  })"),
            "");
}

TEST_F(LaneRace, ABarrierOrdersOnlyTheMemoryThatItFences) {
  EXPECT_NE(check(with("barrier(CLK_GLOBAL_MEM_FENCE)").c_str()).find("no barrier with CLK_LOCAL_MEM_FENCE"),
            std::string::npos);
  EXPECT_EQ(check(with("barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)").c_str()), "");
  const auto neighbour = [](const char* barrier) {
    return "kernel void k(global int* to) { int i = get_local_id(0); to[i] = i; " + std::string(barrier) +
           "; to[i + 32] = to[(i + 1) % 16]; }";
  };
  EXPECT_NE(
      check(neighbour("barrier(CLK_LOCAL_MEM_FENCE)").c_str()).find("no barrier with CLK_GLOBAL_MEM_FENCE"),
      std::string::npos);
  EXPECT_EQ(check(neighbour("barrier(CLK_GLOBAL_MEM_FENCE)").c_str()), "");
  // One behind the other orders what both do.
  EXPECT_EQ(check(neighbour("barrier(CLK_LOCAL_MEM_FENCE); barrier(CLK_GLOBAL_MEM_FENCE)").c_str()), "");
}

// Nobody finds what he asks for.
TEST_F(LaneRace, ACompareAndSwapThatFindsSomethingElseOnlyReads) {
  const auto swap = [](const char* before, const char* space) {
    return "kernel void k(global int* to) { local int lds[1]; " + std::string(space) +
           " int i = get_local_id(0); if (i == 0) *place = 5; barrier(CLK_LOCAL_MEM_FENCE | "
           "CLK_GLOBAL_MEM_FENCE); " +
           before + " atomic_cmpxchg(place, i + 10, 3); }";
  };
  for (const char* space : {"global int* place = to + 40;", "local int* place = lds;"}) {
    EXPECT_EQ(check(swap("to[i] = *place;", space).c_str()), "") << space;
    EXPECT_NE(check(swap("if (i == 1) *place = 7;", space).c_str()), "") << space;
  }
}

TEST_F(LaneRace, OneValueThatAllStoreIsClean) {
  EXPECT_EQ(check("kernel void k(global int* to) { to[3] = 7; }"), "");
}

TEST_F(LaneRace, AValueThatTheOtherHalfStoresLaterIsClean) {
  EXPECT_EQ(check(R"(kernel void k(global int* to) {
    int i = get_local_id(0);
    if (i < 8) to[i] = 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= 8) to[i - 8] = 7;
  })"),
            "");
}

// The copy is made by other work-items than those who read it.
TEST_F(LaneRace, AnAsynchronousCopyIsWaitedFor) {
  const auto copy = [](const char* type, const char* wait) {
    const std::string text =
        "#define TYPE " + std::string(type) + "\n#define WAIT(e) " + wait +
        "\nkernel void k(global TYPE* to) { local TYPE part[16]; int i = get_local_id(0);"
        "event_t e = async_work_group_copy(part, to, 16, 0); WAIT(e); TYPE mine = part[i];"
        "barrier(CLK_LOCAL_MEM_FENCE); part[i] = mine; barrier(CLK_LOCAL_MEM_FENCE);"
        "e = async_work_group_strided_copy(to + 16, part, 8, 2, 0); wait_group_events(1, &e); }";
    return text;
  };
  for (const char* type : {"uchar", "short", "float", "int3", "long", "float8"}) {
    EXPECT_EQ(check(copy(type, "wait_group_events(1, &e)").c_str()), "") << type;
    EXPECT_NE(check(copy(type, "(void)e").c_str()).find("two work-items of one wave"), std::string::npos)
        << type;
  }
}

TEST_F(LaneRace, AsynchronousCopiesToOnePlaceRace) {
  EXPECT_NE(check(R"(kernel void k(global int* to) {
    local int one[16], other[16];
    int i = get_local_id(0);
    one[i] = i, other[i] = i + 16;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t e = async_work_group_copy(to, one, 16, 0);
    e = async_work_group_copy(to, other, 16, e);
    wait_group_events(1, &e);
  })"),
            "");
}

TEST_F(LaneRace, PlanesCopiedWithoutWaitingRace) {
  const auto copy = [](const char* between) {
    return std::string(
               "kernel void k(global int* to) { local int part[16]; int i = get_local_id(0);"
               "event_t e = async_work_group_copy_2D2D(part, 0, to, 0, 4, 4, 4, 8, 4, 0);") +
           between +
           "int mine = part[i]; barrier(CLK_LOCAL_MEM_FENCE); part[i] = mine + 1;"
           "barrier(CLK_LOCAL_MEM_FENCE);"
           "e = async_work_group_copy_3D3D(to, 32, part, 0, 4, 2, 2, 4, 2, 4, 4, 8, e);"
           "async_work_group_copy_fence(CLK_GLOBAL_MEM_FENCE);"
           "e = async_work_group_copy_3D3D(to, 32, part, 0, 4, 2, 2, 4, 2, 4, 4, 8, e);"
           "wait_group_events(1, &e); }";
  };
  EXPECT_EQ(check(copy("wait_group_events(1, &e);").c_str()), "");
  EXPECT_NE(check(copy("").c_str()).find("two work-items of one wave"), std::string::npos);
}

TEST_F(LaneRace, AnAsynchronousCopyOrdersNothing) {
  EXPECT_NE(check(R"(kernel void k(global int* to) {
    local int part[16], other[16];
    int i = get_local_id(0);
    part[i] = i;
    event_t e = async_work_group_copy(other, to, 16, 0);
    to[i + 32] = part[(i + 1) % 16];
    wait_group_events(1, &e);
  })")
                .find("two work-items of one wave"),
            std::string::npos);
}

TEST_F(LaneRace, ManyValuesInOnePlaceRace) {
  EXPECT_NE(check("kernel void k(global int* to) { to[3] = get_local_id(0); }"), "");
}

}  // namespace
}  // namespace morgana::icd::test
