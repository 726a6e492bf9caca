// Races between waves: those of LDS and of global memory, and what orders accesses: barriers, atomics, fences
// by their scope. MORGANA_CHECK comes from the environment; race:lanes has tests of its own.
#include <tuple>
#include <utility>

#include "icd/check_support.h"

namespace morgana::icd::test {
namespace {

constexpr const char* kTurned = R"(
kernel void k(global int* to) {
  local int mine[128];
  size_t i = get_local_id(0);
  mine[i] = i;
  BARRIER
  to[get_global_id(0)] = mine[127 - i];
}
)";

TEST_F(Check, ALocalRaceIsNamedWithBothSides) {
  const std::string report = check((std::string("#define BARRIER\n") + kTurned).c_str(), 128, 128, 128);
  EXPECT_TRUE(has(report, "race: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "against     ")) << report;
  EXPECT_TRUE(has(report, "no barrier lies between")) << report;
  EXPECT_TRUE(has(report, "of LDS")) << report;
}

TEST_F(Check, ABarrierBetweenIsClean) {
  const std::string source = std::string("#define BARRIER barrier(CLK_LOCAL_MEM_FENCE);\n") + kTurned;
  EXPECT_EQ(check(source.c_str(), 256, 256, 128), "");
}

TEST_F(Check, ABarrierOfOtherMemoryIsNone) {
  const std::string source = std::string("#define BARRIER barrier(CLK_GLOBAL_MEM_FENCE);\n") + kTurned;
  EXPECT_TRUE(has(check(source.c_str(), 256, 256, 128), "no barrier with CLK_LOCAL_MEM_FENCE lies between"));
}

TEST_F(Check, LoadsToLdsRaceWithReadsOfOtherWaves) {
  for (const auto& [barrier, element, races] : {std::tuple("", "i", false),
                                                {"", "i ^ 64", true},
                                                {"barrier(CLK_LOCAL_MEM_FENCE);", "i ^ 64", false}}) {
    SCOPED_TRACE(std::string(barrier) + element);
    const std::string report =
        check(loads_to_lds("s_waitcnt vmcnt(0)", barrier, element).c_str(), 1024, 128, 128);
    EXPECT_EQ(has(report, "race: kernel 'k'"), races) << report;
    EXPECT_EQ(report.empty(), !races) << report;
  }
}

// Other waves access other bytes of the dword between the two.
TEST_F(Check, BytesOfOneDwordAreToldApart) {
  for (const char* type : {"char", "short"})
    for (const char* place : {"global TYPE* a = (global TYPE*)to;", "local TYPE a[512];"}) {
      const std::string text(place);
      const auto body = [&](const char* access) {
        std::string source =
            "kernel void k(global int* to) { " + text + " int i = get_local_id(0); " + access;
        if (text.starts_with("local")) source += " barrier(CLK_LOCAL_MEM_FENCE); to[i] = a[i];";
        source += " }";
        for (size_t at; (at = source.find("TYPE")) != source.npos;) source.replace(at, 4, type);
        return source;
      };
      // Wave 0 writes one element of wave 1's, which then writes those beside it before its own.
      const std::string wrong = check(body("a[i + (i == 6 ? 64 : 0)] = i + 1;").c_str(), 512, 256, 256);
      EXPECT_TRUE(has(wrong, "race: kernel 'k'")) << body("") << wrong;
      // Elements of one dword, by two waves that take turns.
      EXPECT_EQ(check(body("a[i % 64 * 4 + i / 64] = i + 1;").c_str(), 512, 256, 256), "");
      EXPECT_EQ(
          check(body("a[i % 64 * 4 + i / 64] = 1; a[i % 64 * 4 + i / 64] += 2;").c_str(), 512, 256, 256), "");
    }
}

// What of LDS the kernel has not asked for counts, too. The store names one register twice.
TEST_F(Check, ARaceInLdsBehindTheKernelsIsNamed) {
  constexpr const char* kSource = R"code(
kernel void k(global int* to) {
  const uint i = get_local_id(0);
  int read;
  __asm__ volatile("s_mov_b32 m0, -1\n ds_write_b32 %1, %1 offset:4096\n BARRIER\n"
                   "ds_read_b32 %0, %2 offset:4096\n s_waitcnt lgkmcnt(0)"
                   : "=v"(read) : "v"(i * 4), "v"((i ^ 64) * 4) : "memory");
  to[i] = read;
})code";
  for (const auto& [barrier, races] :
       {std::pair("s_nop 0", true), {"s_waitcnt lgkmcnt(0)\\n s_barrier", false}}) {
    std::string source = kSource;
    source.replace(source.find("BARRIER"), 7, barrier);
    const std::string report = check(source.c_str(), 128, 128, 128);
    EXPECT_EQ(has(report, "race: kernel 'k'"), races) << report;
  }
}

// Unoptimized code has other s_nop between what marks the barrier and the barrier.
TEST_F(Check, ABarrierOfOtherMemoryIsNoneInUnoptimizedCode) {
  constexpr const char* kSource = R"(
kernel void k(global int* to) {
  int i = get_local_id(0);
  to[i + 1] = to[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i == 0) to[0] = -1;
})";
  for (const char* options : {"-g", "-g -cl-opt-disable"})
    EXPECT_TRUE(
        has(check(kSource, 256, 128, 128, 0, options), "no barrier with CLK_GLOBAL_MEM_FENCE lies between"))
        << options;
}

// Whole rows are kept in mind as such: who wrote one element is known all the same, of parts of a dword the
// last.
TEST_F(Check, TheWriterOfOneElementOfARowIsNamed) {
  for (const auto& [type, writer] : {std::pair("int", "37"),
                                     {"int2", "37"},
                                     {"int4", "37"},
                                     {"int8", "37"},
                                     {"uchar", "39"},
                                     {"ushort", "37"}})
    for (const char* rows : {"local T rows[64];", "global T* rows = (global T*)to + 64;"}) {
      const std::string source =
          "#define T " + std::string(type) + "\nkernel void k(global int* to) {\n  " + rows + R"(
        const int i = get_local_id(0);
        if (i < 64) rows[i] = (T)(i + 1);
        else if (i == 69) *(global T*)to = rows[37];
      })";
      const std::string report = check(source.c_str(), 1024, 128, 128);
      EXPECT_TRUE(has(report, ("(" + std::string(writer) + ", 0, 0) of").c_str())) << source << report;
    }
}

// Sections that only read are looked at where another one writes without a barrier between.
constexpr const char* kTurns = R"(
kernel void k(global int* to) {
  local int tile[128];
  int i = get_local_id(0), sum = 0;
  tile[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 0; n < 4; ++n) {
    sum += tile[(i + 64) % 128];
    BARRIER
    tile[i] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  to[i] = sum;
}
)";
TEST_F(Check, ATileThatIsFilledWhileOthersReadItRaces) {
  const std::string report = check((std::string("#define BARRIER\n") + kTurns).c_str(), 128, 128, 128);
  EXPECT_TRUE(has(report, "race: kernel 'k'")) << report;
}
TEST_F(Check, ATileThatIsFilledWhenAllHaveReadItIsClean) {
  const std::string source = std::string("#define BARRIER barrier(CLK_LOCAL_MEM_FENCE);\n") + kTurns;
  EXPECT_EQ(check(source.c_str(), 128, 128, 128), "");
}

TEST_F(Check, WavesBehindDifferentBarriersRace) {
  const std::string report = check(R"(kernel void k(global int* to) {
    local int tile[128];
    int i = get_local_id(0);
    tile[i] = i;
    if (i < 64) {
      barrier(CLK_LOCAL_MEM_FENCE);
      to[i] = tile[i + 64];
      barrier(CLK_LOCAL_MEM_FENCE);
    } else {
      barrier(CLK_LOCAL_MEM_FENCE);
      tile[i] = to[i] + 5;
      barrier(CLK_LOCAL_MEM_FENCE);
      to[i] = 3;
    }
  })",
                                   128, 128, 128);
  EXPECT_TRUE(has(report, "race: kernel 'k'")) << report;
}

// The first launch notes how far the buffers lie apart. Later ones store by that, where the code alone tells
// of the first buffer: what the second has read leaves no marks then, which is said.
TEST_F(Check, AStoreThatTheCodeDoesNotTellIsNotChecked) {
  cl_program program = make_program(R"(kernel void k(global int* to, global int* from) {
    global int* apart = to;
    int i = get_local_id(0);
    if (to[2] == 0) {
      if (get_global_id(0) == 0) {
        apart[0] = (int)((long)from - (long)to);
        to[2] = 1;
      }
    } else {
      *(global int*)((ulong)to + apart[0] + 4 * i) = from[i + 1] + 1;
    }
  })",
                                    "-g -cl-std=CL3.0");
  const std::vector<cl_int> zeros(256);
  auto* const data = const_cast<cl_int*>(zeros.data());
  cl_mem to = make_buffer(1024, CL_MEM_COPY_HOST_PTR, data),
         from = make_buffer(1024, CL_MEM_COPY_HOST_PTR, data);
  launch(program, to, 64, 64, 0, from);
  EXPECT_TRUE(has(launch(program, to, 128, 128, 0, from), "a part of the kernel was not checked"));
  const std::string report = launch(program, to, 128, 128, 0, from);
  EXPECT_TRUE(has(report, "race: kernel 'k'")) << report;
  EXPECT_FALSE(has(report, "not checked")) << report;
  for (cl_mem one : {to, from}) clReleaseMemObject(one);
  clReleaseProgram(program);
}

TEST_F(Check, WorkGroupsThatWriteOnePlaceRace) {
  for (const char* source :
       {"kernel void k(global int* to) { to[0] = get_group_id(0) + 1; }",
        "kernel void k(global int* to) { to[get_group_id(0)] = 5; to[1] = 6; }",
        "kernel void k(global int* to) { if (get_global_id(0) == 0) *to = 0; atomic_inc(to); }"})
    EXPECT_TRUE(has(check(source, 1, 128, 64), "nothing orders accesses of different work-groups")) << source;
}

// A flag that many set.
TEST_F(Check, OneValueThatAllStoreIsClean) {
  for (const char* type : {"char", "int", "ulong2"}) {
    const std::string source =
        "kernel void k(global " + std::string(type) + "* to) { to[0] = (" + type + ")5; }";
    EXPECT_EQ(check(source.c_str(), 4, 256, 64), "") << type;
  }
}

TEST_F(Check, AtomicsThatWriteOnePlaceAreClean) {
  EXPECT_EQ(check("kernel void k(global int* to) { atomic_add(to + get_global_id(0) % 3, 1); }", 3, 256, 64),
            "");
}

TEST_F(Check, BytesSideBySideAreClean) {
  EXPECT_EQ(check("kernel void k(global char* to) { if (get_local_id(0) == 0) to[get_group_id(0)] = 1; }", 4,
                  16 * 64, 64),
            "");
}

TEST_F(Check, AReadOfWhatAtomicsWriteRaces) {
  const std::string report = check(R"(kernel void k(global int* to) {
    local int count;
    if (get_local_id(0) == 0) count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&count);
    to[get_global_id(0)] = count;
  })",
                                   128, 128, 128);
  EXPECT_TRUE(has(report, "race: kernel 'k'")) << report;
}

// What the loop begins with, LLVM reads plainly: the compare-and-swap asks whether it still holds.
TEST_F(Check, AReadThatACompareAndSwapFollowsIsClean) {
  EXPECT_EQ(check(R"(kernel void k(global int* to) {
    int old, now;
    do {
      old = *to;
      now = old * 3 + 1;
    } while (atomic_cmpxchg((volatile global int*)to, old, now) != old);
  })",
                  1, 256, 64),
            "");
}

TEST_F(Check, AReadOfAWaveThatHasEndedRacesWithAtomics) {
  const std::string report = check(R"(kernel void k(global int* to) {
    if (get_group_id(0) == 0) to[1 + get_local_id(0)] = *to;
    else atomic_inc(to);
  })",
                                   256, 256, 64);
  EXPECT_TRUE(has(report, "race: kernel 'k'")) << report;
}

TEST_F(Check, AReadThatACompareAndSwapFollowsElsewhereRaces) {
  const std::string report = check(R"(kernel void k(global int* to) {
    const int old = *to;
    atomic_cmpxchg((volatile global int*)to + 1 + (old & 1), 0, 1);
    atomic_inc(to);
  })",
                                   4, 256, 64);
  EXPECT_TRUE(has(report, "race: kernel 'k'")) << report;
}

// The last work-group adds up what the others left: the atomic and the fences around it order that.
TEST_F(Check, TheLastWorkGroupMayReadAllIsClean) {
  EXPECT_EQ(check(R"(kernel void k(global int* to) {
    local int is_last;
    if (get_local_id(0) == 0) {
      to[1 + get_group_id(0)] = get_group_id(0);
      atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
      is_last = atomic_fetch_add_explicit((global atomic_int*)to, 1, memory_order_relaxed, memory_scope_device) ==
                get_num_groups(0) - 1;
      atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
      if (is_last) {
        int sum = 0;
        for (int i = 0; i < get_num_groups(0); ++i) sum += to[1 + i];
        to[40] = sum;
      }
    }
  })",
                  64, 8 * 64, 64, 0),
            "");
}

// One work-item writes, another one of the same group or of another one waits for its flag and reads.
std::string flagged(const char* release, const char* acquire, const char* reader) {
  const auto fence = [](const char* scope) {
    return *scope == 0 ? ""
                       : "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_" +
                             std::string(scope) + ");";
  };
  return R"(kernel void k(global int* to) {
    global atomic_int* flag = (global atomic_int*)(to + 64);
    if (get_global_id(0) == 0) {
      to[0] = 1;)" +
         fence(release) + R"(
      atomic_exchange_explicit(flag, 1, memory_order_relaxed, memory_scope_device);
    } else if (get_global_id(0) == )" +
         reader + R"() {
      while (atomic_fetch_add_explicit(flag, 0, memory_order_relaxed, memory_scope_device) == 0) {}
      )" +
         fence(acquire) + R"(
      to[128] = to[0];
    }
  })";
}

TEST_F(Check, AFlagOfTheGroupOrdersTheGroupIsClean) {
  EXPECT_EQ(check(flagged("work_group", "work_group", "64").c_str(), 256, 128, 128), "");
  EXPECT_EQ(check(flagged("device", "device", "64").c_str(), 256, 128, 128), "");
}

TEST_F(Check, AFlagOrdersGroupsWhereItsFencesAreOfTheDevice) {
  EXPECT_EQ(check(flagged("device", "device", "128").c_str(), 256, 256, 128), "");
  for (const auto& [release, acquire] : {std::pair("device", "work_group"), {"device", ""}, {"", "device"}}) {
    const std::string report = check(flagged(release, acquire, "128").c_str(), 256, 256, 128);
    EXPECT_TRUE(has(report, "race: kernel 'k'")) << release << ", " << acquire << ": " << report;
  }
}

// gfx12 alone has another instruction for it.
TEST_F(Check, AFlagAtomicOfTheGroupIsNoneForOthers) {
  char name[64] = {};
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr);
  const std::string report = check(R"(kernel void k(global int* to) {
    atomic_fetch_add_explicit((global atomic_int*)to, 1, memory_order_relaxed, memory_scope_work_group);
  })",
                                   64, 256, 64);
  if (has(name, "gfx12"))
    EXPECT_TRUE(has(report, "the scope of an atomic is its work-group")) << report;
  else
    EXPECT_EQ(report, "");
}

}  // namespace
}  // namespace morgana::icd::test
