// Kernels under checks: each fault is found, named and counted once, and its clean twin gives no finding. The
// environment of the tests sets MORGANA_CHECK.
#include <fnmatch.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "icd/check_support.h"

namespace morgana::icd::test {
namespace {

TEST_F(Check, AWriteBehindABufferIsNamedWithLineWorkItemAndDistance) {
  const std::string report =
      check("kernel void k(global int* to) {\n  to[get_global_id(0)] = 1;\n}\n", 100, 128, 64);
  EXPECT_TRUE(has(report, "out-of-bounds: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "what        write of 4 bytes")) << report;
  EXPECT_TRUE(has(report, "work-item   (100, 0, 0) of work-group (1, 0, 0), wave 0, lane 36")) << report;
  EXPECT_TRUE(has(report, ":2\n")) << report;
  EXPECT_TRUE(has(report, "0 bytes past the end of buffer")) << report;
  EXPECT_TRUE(has(report, "of 400 bytes")) << report;
}

TEST_F(Check, AReadOfOneByteTooManyIsNamed) {
  const std::string report =
      check("kernel void k(global char* to) { to[0] = to[get_global_id(0) + 1]; }", 16, 64, 64);
  EXPECT_TRUE(has(report, "what        read of 1 byte\n")) << report;
  EXPECT_TRUE(has(report, "work-item   (63, 0, 0)")) << report;
}

TEST_F(Check, ABufferThatIsUsedToItsLastByteIsClean) {
  EXPECT_EQ(check("kernel void k(global int* to) { to[get_global_id(0)] += 1; }", 100, 100, 50), "");
}

// Kernels that do with a buffer what the program has said they do not.
TEST_F(Check, WhatAKernelMayDoWithABufferIsWhatTheProgramHasSaid) {
  const struct {
    cl_mem_flags flags;
    const char *of_write, *of_read;  // nullptr: clean
  } cases[] = {
      {CL_MEM_READ_WRITE, nullptr, nullptr},
      {CL_MEM_READ_ONLY, "because     the program said that kernels only read this buffer", nullptr},
      {CL_MEM_WRITE_ONLY, nullptr, "because     the program said that kernels only write this buffer"},
  };
  constexpr const char* kWrites = "kernel void k(global int* to) { to[get_global_id(0)] = 1; }";
  constexpr const char* kReads =
      "kernel void k(global const int* from) { if (from[get_global_id(0)] != 0) printf(\"%d\", 0); }";
  for (const auto& one : cases)
    for (const bool writes : {true, false}) {
      cl_program program = make_program(writes ? kWrites : kReads, "-g");
      std::vector<cl_int> zeros(64);
      cl_mem buffer = make_buffer(256, one.flags | CL_MEM_COPY_HOST_PTR, zeros.data());
      const std::string report = launch(program, buffer, 64, 64, 0);
      clReleaseMemObject(buffer);
      clReleaseProgram(program);
      const char* const wanted = writes ? one.of_write : one.of_read;
      if (wanted == nullptr) {
        EXPECT_EQ(report, "");
      } else {
        EXPECT_TRUE(has(report, "forbidden-access: kernel 'k'") && has(report, wanted)) << report;
      }
    }
}

TEST_F(Check, ABufferThatWasFreedIsNamed) {
  void* const svm = clSVMAlloc(context, CL_MEM_READ_WRITE, 256, 0);
  ASSERT_NE(svm, nullptr);
  cl_program program = make_program("kernel void k(global int* to) { to[get_global_id(0)] = 1; }", "-g");
  cl_kernel kernel = make_kernel(program, "k");
  ASSERT_EQ(clSetKernelArgSVMPointer(kernel, 0, svm), CL_SUCCESS);
  clSVMFree(context, svm);
  const size_t items = 64;
  testing::internal::CaptureStderr();
  clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr);
  clFinish(queue);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(has(report, "use-after-free: kernel 'k'") || has(report, "out-of-bounds: kernel 'k'"))
      << report;
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

constexpr const char* kLocal = R"(
kernel void k(global int* to, local int* mine) {
  size_t i = get_local_id(0);
  mine[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  to[i] = mine[63 - i];
}
)";

TEST_F(Check, LocalMemoryEndsWhereItsArgumentSays) {
  const std::string report = check(kLocal, 64, 64, 64, 63 * sizeof(cl_int));
  EXPECT_TRUE(has(report, "lds-out-of-bounds: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "offset 252 of LDS")) << report;
  EXPECT_TRUE(has(report, "the work-group has 252 bytes of LDS")) << report;
}

TEST_F(Check, LocalMemoryOfTheRightSizeIsClean) {
  EXPECT_EQ(check(kLocal, 64, 64, 64, 64 * sizeof(cl_int)), "");
}

// Each of the two values lies at its own offset, counted in values.
TEST_F(Check, AnExchangeOfTwoValuesInLocalMemoryIsClean) {
  constexpr const char* kExchange = R"cl(
kernel void k(global int* to, local int* mine) {
  mine[2] = mine[3] = 5;
  long both;
  __asm__ volatile("s_mov_b32 m0, -1\n"
                   "ds_wrxchg2_rtn_b32 %0, %1, %2, %3 offset0:2 offset1:3\n"
                   "s_waitcnt lgkmcnt(0)" : "=v"(both) : "v"(mine), "v"(7), "v"(8) : "m0", "memory");
  to[0] = (int)both;
}
)cl";
  EXPECT_EQ(check(kExchange, 64, 1, 1, 4 * sizeof(cl_int)), "");
}

// What lies beside the array is the work-item's, too, and the index says where it goes wrong.
TEST_F(Check, AnIndexOutsideOfAnArrayIsNamedAndTheKernelGoesOn) {
  for (const char* array :
       {"local int a[8], b[8]; b[i % 8] = a[i % 8] = 1; barrier(CLK_LOCAL_MEM_FENCE);",
        "int a[8] = {1, 1, 1}, b[8]; for (int k = 0; k < 8; k++) b[k] = to[k]; to[8 + i % 2] = b[i % 8];",
        "struct { int n, b[8], end; } s = {}, *p = &s; int *unused = p->b;\n#define a s.b\n"}) {
    const std::string source = "kernel void k(global int* to) {\n int i = get_global_id(0) + to[0];" +
                               std::string(array) +
                               "\n to[16 + i] = a[i]; \n#undef a\n to[0] = 0;  to[1] = 5; }";
    const std::string report = check(source.c_str(), 32, 9, 9);
    EXPECT_TRUE(has(report, "array-out-of-bounds: kernel 'k'") && has(report, "work-item   (8, 0, 0)"))
        << report;
    EXPECT_TRUE(has(report, "outside of the array")) << report;
  }
}

// Of one index and one end the first line that every way passes.
TEST_F(Check, AnIndexThatStaysOutsideIsToldWhereItFirstIs) {
  const char* const source = R"(kernel void k(global int* to) {
    int i = get_global_id(0);
    local int a[8], b[8], c[9];
    if (to[i] + i > 40) a[i] = 1;
    b[i] = 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = 0; n < 4; n++) to[i] += b[i] + n;
    c[i] = to[i];
  })";
  const std::string report = check(source, 16, 16, 16);
  EXPECT_TRUE(has(report, "<source>:5\n") && has(report, "work-item   (8, 0, 0)")) << report;
  EXPECT_FALSE(has(report, "<source>:4\n") || has(report, "<source>:7\n")) << report;
  EXPECT_TRUE(has(report, "<source>:8\n") && has(report, "work-item   (9, 0, 0)")) << report;
}

TEST_F(Check, IndicesThatAreAlwaysOutsideAreEachTold) {
  const char* const source = R"(kernel void k(global int* to) {
    local int a[8], b[10];
    int n = 9, m = 20;
    if (to[0] == 0) n = 9;
    a[n] = 1;
    b[m] = 2;
    barrier(CLK_LOCAL_MEM_FENCE);
  })";
  const std::string report = check(source, 16, 16, 16);
  EXPECT_TRUE(has(report, "<source>:5\n") && has(report, "<source>:6\n")) << report;
}

// An address may be that of the end; what lies there is none of the array's.
TEST_F(Check, TheElementBehindTheLastIsOutsideWhereItIsAccessed) {
  for (const char* access : {"atomic_inc(&a[i]);", "atomic_fetch_add((local atomic_int*)&a[i], 1);",
                             "v[i].y = 1;", "s[i].m = 1;", "atomic_add(a + i, 1);"}) {
    const std::string source =
        std::string(
            "typedef struct { int n, m; } S; kernel void k(global int* to) { int i = get_global_id(0);"
            "local int a[8], b[8]; local int2 v[8]; local S s[8]; b[i & 7] = 1; ") +
        access + " barrier(CLK_LOCAL_MEM_FENCE); to[i] = a[i & 7] + b[0] + v[i & 7].y + s[i & 7].m; }";
    const std::string report = check(source.c_str(), 16, 9, 9);
    EXPECT_TRUE(has(report, "array-out-of-bounds") && has(report, "work-item   (8, 0, 0)"))
        << access << report;
  }
  const std::string report = check(R"(kernel void k(global int* to) {
    int i = get_global_id(0), sum = 0;
    local int a[8];
    if (i < 8) a[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (local int *at = a, *end = &a[i]; at != end; at++) sum += *at;
    to[i] = sum;
  })",
                                   16, 9, 9);
  EXPECT_FALSE(has(report, "array-out-of-bounds")) << report;
}

TEST_F(Check, EachIndexOutsideOfAnArrayIsNamedAlsoInWhatIsCompiledAndLinked) {
  const char* const source = R"(kernel void k(global int* to) {
    int i = get_global_id(0);
    local int a[8], b[8];
    if (to[i] + i > 4) a[i & 15] = 1;
    else
      b[i + 4 & 15] = 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] = a[i & 7] + b[i & 7];
  })";
  const std::string report = check(source, 16, 16, 16);
  EXPECT_TRUE(has(report, "<source>:4\n") && has(report, "<source>:6\n")) << report;
  cl_int error = CL_SUCCESS;
  cl_program object =
      clCreateProgramWithSource(context, 1, const_cast<const char**>(&source), nullptr, &error);
  ASSERT_EQ(clCompileProgram(object, 0, nullptr, "-g", 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  cl_program program = clLinkProgram(context, 0, nullptr, nullptr, 1, &object, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem buffer = make_buffer(64);
  EXPECT_TRUE(has(launch(program, buffer, 16, 16, 0), "array-out-of-bounds"));
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
  clReleaseProgram(object);
}

TEST_F(Check, IndicesThatAreRightOrOfAnArrayOfAnySizeIsClean) {
  EXPECT_EQ(check(R"(struct List { int count; int of[1]; };
  kernel void k(global int* to) {
    int i = get_global_id(0), mine[4] = {1, 2, 3, 4};
    local int part[2][64];
    part[i & 1][i] = mine[i & 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    global struct List* list = (global struct List*)to;
    list->of[i] = part[i & 1][i];
  })",
                  65, 64, 64),
            "");
}

TEST_F(Check, PrivateMemoryIsTheWorkItems) {
  EXPECT_EQ(check(R"(kernel void k(global int* to) {
    int own[40];
    for (int i = 0; i < 40; ++i) own[i] = to[i] + i;
    to[get_global_id(0)] = own[to[get_global_id(0)] & 31];
  })",
                  64, 64, 64),
            "");
}

TEST_F(Check, MemoryOfTheProgramIsKnown) {
  std::vector<cl_int> own(64);
  cl_program program = make_program("kernel void k(global int* to) { to[get_global_id(0)] = 1; }", "-g");
  cl_mem buffer = make_buffer(own.size() * sizeof(cl_int), CL_MEM_USE_HOST_PTR, own.data());
  EXPECT_EQ(launch(program, buffer, 64, 64, 0), "");
  EXPECT_TRUE(has(launch(program, buffer, 65, 65, 0), "out-of-bounds: kernel 'k'"));
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
}

TEST_F(Check, ABarrierThatSomeWavesPassByIsNamed) {
  const std::string report = check(R"(kernel void k(global int* to) {
    if (get_local_id(0) < 64) barrier(CLK_GLOBAL_MEM_FENCE);
    to[get_global_id(0)] = 1;
  })",
                                   128, 128, 128);
  EXPECT_TRUE(has(report, "barrier-divergence: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "have ended without the barrier")) << report;
}

TEST_F(Check, ABarrierThatSomeLanesPassByIsNamed) {
  const std::string report = check(R"(kernel void k(global int* to) {
    if (get_local_id(0) < 7) {
      to[get_global_id(0)] = 1;
      barrier(CLK_GLOBAL_MEM_FENCE);
    }
    to[get_global_id(0)] += 1;
  })",
                                   64, 64, 64);
  EXPECT_TRUE(has(report, "barrier-divergence: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "work-items of the wave went past the barrier")) << report;
}

// Nothing else shows that they skipped the first one.
TEST_F(Check, ABarrierThatOtherLanesMeetBehindAnotherIsNamed) {
  const std::string report = check(R"(kernel void k(global int* to) {
    if (get_local_id(0) < 7) barrier(CLK_GLOBAL_MEM_FENCE);
    barrier(CLK_GLOBAL_MEM_FENCE);
  })",
                                   1, 64, 64);
  EXPECT_TRUE(has(report, "barrier-divergence: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "against     barrier that the others came to")) << report;
}

TEST_F(Check, AnAsynchronousCopyThatSomeWavesPassByIsNamed) {
  EXPECT_TRUE(has(check(R"(kernel void k(global int* to) {
    local int part[128];
    part[get_local_id(0)] = 0;
    event_t e = 0;
    if (get_local_id(0) < 64) e = async_work_group_copy(part, to, 128, 0);
    wait_group_events(1, &e);
    to[get_local_id(0)] += part[get_local_id(0)];
  })",
                        128, 128, 128),
                  "barrier-divergence"));
}

TEST_F(Check, BarriersBehindAReturnOfSomeLanesIsClean) {
  EXPECT_EQ(check(R"(kernel void k(global int* to) {
    if (get_local_id(0) >= 50) return;
    to[get_local_id(0)] = 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    to[49 - get_local_id(0)] += 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
  })",
                  50, 64, 64),
            "");
}

TEST_F(Check, BarriersInALoopAreClean) {
  EXPECT_EQ(check(R"(kernel void k(global int* to) {
    local int mine[128];
    size_t i = get_local_id(0);
    mine[i] = to[i];
    for (int d = 64; d > 0; d /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i < d) mine[i] += mine[i + d];
    }
    if (i == 0) to[get_group_id(0)] = mine[0];
  })",
                  128, 128, 128),
            "");
}

// What is read is the buffer's, and nobody has written there.
TEST_F(Check, ABufferThatNobodyHasWrittenIsNamedWhereItsValueIsUsed) {
  cl_program program = make_program(R"(kernel void k(global int* to) {
    if (to[get_global_id(0)] > 5) to[64 + get_global_id(0)] = 1;
  })",
                                    "-g");
  cl_mem buffer = make_buffer(128 * sizeof(cl_int), 0, nullptr);
  const std::string report = launch(program, buffer, 64, 64, 0);
  EXPECT_TRUE(has(report, "uninitialized: kernel 'k'")) << report;
  const cl_int zero = 0;
  clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, 64 * sizeof zero, 0, nullptr, nullptr);
  EXPECT_EQ(launch(program, buffer, 64, 64, 0), "");
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
}

// A kernel that writes every other element, and a host that reads all of them, each second one, and some.
TEST_F(Check, WhatTheHostReadsThatNobodyHasWrittenIsNamed) {
  cl_program program = make_program("kernel void k(global int* to) { to[2 * get_global_id(0)] = 3; }", "");
  cl_mem buffer = make_buffer(128 * sizeof(cl_int), 0, nullptr);
  EXPECT_EQ(launch(program, buffer, 64, 64, 0), "");
  std::vector<cl_int> all(128);
  const size_t origin[3] = {}, region[3] = {sizeof(cl_int), 64, 1};
  testing::internal::CaptureStderr();
  clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, origin, region, 2 * sizeof(cl_int), 0,
                          sizeof(cl_int), 0, all.data(), 0, nullptr, nullptr);
  clEnqueueUnmapMemObject(queue, buffer,
                          clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 512, 0,
                                             nullptr, nullptr, nullptr),
                          0, nullptr, nullptr);
  clFinish(queue);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  clEnqueueReadBuffer(queue, buffer, CL_TRUE, 8, 400, all.data(), 0, nullptr, nullptr);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(has(report,
                  "uninitialized: the host reads what nobody has written: 200 of 400 bytes, the first "
                  "at offset 12 of a buffer of 512"))
      << report;
  EXPECT_TRUE(has(report, "call        clEnqueueReadBuffer\n  called at   ")) << report;
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
}

// What is found when the host reads the structs that this body of a kernel has written.
class Padding : public Check {
 protected:
  std::string read_after(const char* body) {
    const std::string source = R"(
      typedef struct { float2 a; int b; } Inner;
      typedef struct { float3 a; float b; } Three;
      typedef struct { int a; long b; Inner c[2]; Inner d; short e; } Outer;
      #define MOST(s) s.a = i; s.b = i; s.d.a = i; s.e = i; \
        for (int n = 0; n < 2; n++) s.c[n].a = i, s.c[n].b = i;
      kernel void k(global Outer* to) { int i = get_global_id(0); )" +
                               std::string(body) + "}";
    std::string reports;
    for (const char* options : {"", "-cl-opt-disable"}) {
      cl_program program = make_program(source.c_str(), options);
      std::vector<char> all(64 * size_t{72});
      cl_mem buffer = make_buffer(all.size(), 0, nullptr);
      EXPECT_EQ(launch(program, buffer, 64, 64, 0), "");
      testing::internal::CaptureStderr();
      clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, all.size(), all.data(), 0, nullptr, nullptr);
      reports += testing::internal::GetCapturedStderr();
      clReleaseMemObject(buffer);
      clReleaseProgram(program);
    }
    return reports;
  }
};

// No kernel can write what lies between and behind members.
TEST_F(Padding, ThatTheHostReadsIsClean) {
  EXPECT_EQ(read_after("MOST(to[i]) to[i].d.b = i;"), "");
  EXPECT_EQ(read_after("Outer mine; MOST(mine) mine.d.b = i; to[i] = mine;"), "");
  EXPECT_EQ(read_after("Inner mine = {i, i}; MOST(to[i]) to[i].d = mine;"), "");
}

TEST_F(Padding, OfVectorsOfThreeIsClean) {
  constexpr const char* kVector = "global float3* v = (global float3*)(to + i); for (int n = 0; n < 4; n++) ";
  const std::string rest = "((global long*)(to + i))[8] = i;";
  // Of a struct, too, whose end Clang fills.
  const char* kMember =
      "global Three* s = (global Three*)(to + i); s[0].a = s[1].a = i; s[0].b = s[1].b = i; ";
  EXPECT_EQ(read_after((kMember + rest).c_str()), "");
  for (const char* body : {"v[n] = (float3)(i);", "v[n].x = i, v[n].y = i, v[n].z = i;",
                           "*(v + n) = (float3)(n), v[n].yz = (float2)(i);"})
    EXPECT_EQ(read_after((kVector + (body + rest)).c_str()), "") << body;
}

// A float4 that is written as a float3, bytes that the program does not name, another member of a union.
TEST_F(Padding, IsOthersWhereTheyHaveWritten) {
  cl_program program = make_program(R"(
    typedef struct { int id; uchar name[8]; } Named;
    typedef union { struct { long d; char c; } s; int x[4]; } Either;
    kernel void k(global int* to, global int* from) {
      *(global float3*)to = (float3)(0);
      ((global Named*)(to + 4))->id = 0;
      *(global Either*)(to + 8) = *(global Either*)(from + 8);
    })",
                                    "");
  cl_kernel kernel = make_kernel(program, "k");
  std::vector<cl_int> data(12, 7);
  cl_mem buffers[] = {make_buffer(48, CL_MEM_COPY_HOST_PTR, data.data()),
                      make_buffer(48, CL_MEM_COPY_HOST_PTR, data.data())};
  for (cl_uint i = 0; i < 2; i++) clSetKernelArg(kernel, i, sizeof *buffers, buffers + i);
  const size_t one = 1;
  clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
  clEnqueueReadBuffer(queue, buffers[0], CL_TRUE, 0, 48, data.data(), 0, nullptr, nullptr);
  EXPECT_EQ(data, (std::vector<cl_int>{0, 0, 0, 7, 0, 7, 7, 7, 7, 7, 7, 7}));
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Padding, IsNoMemberThatWasForgotten) {
  EXPECT_TRUE(has(read_after("MOST(to[i])"), ": 512 of 4608 bytes, the first at offset 56 of"));
}

TEST_F(Check, LocalMemoryThatNobodyHasWrittenIsNamed) {
  constexpr const char* kSource = R"(kernel void k(global int* to) {
    local int mine[64];
    int i = get_local_id(0);
    if (i != 7 ALL) mine[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] = mine[i] + 1;
  })";
  const std::string report = check((std::string("#define ALL\n") + kSource).c_str(), 64, 64, 64);
  EXPECT_TRUE(has(report, "uninitialized: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "work-item   (7, 0, 0)")) << report;
  EXPECT_TRUE(has(report, "because     what is stored depends on")) << report;
  EXPECT_EQ(check((std::string("#define ALL || true\n") + kSource).c_str(), 64, 64, 64), "");
}

// Two numbers at once, where the target has v_pk_add_f32, of which one operand is known.
TEST_F(Check, PairsOfWhatNobodyHasWrittenAreNamed) {
  const std::string report = check(R"(kernel void k(global float2* to) {
    local float2 mine[64];
    int i = get_local_id(0);
    if (i != 7) mine[i] = (float2)(i, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] = mine[i] + mine[63 - i];
  })",
                                   128, 64, 64);
  EXPECT_TRUE(has(report, "uninitialized: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "work-item   (7, 0, 0)")) << report;
}

// Without a store LLVM knows that the array has no value.
TEST_F(Check, LocalMemoryThatNothingStoresToIsNamed) {
  const std::string report = check(R"(kernel void k(global int* to) {
    local int mine[64];
    to[get_local_id(0)] = mine[63 - get_local_id(0)] + 1;
  })",
                                   64, 64, 64);
  EXPECT_TRUE(has(report, "uninitialized: kernel 'k'")) << report;
}

TEST_F(Check, PrivateMemoryThatNobodyHasWrittenIsNamed) {
  const std::string report = check(R"(kernel void k(global int* to) {
    volatile int own[40];
    for (int i = 0; i < 39; ++i) own[i] = i;
    to[get_global_id(0)] = to[own[get_global_id(0)] & 63];
  })",
                                   64, 40, 40);
  EXPECT_TRUE(has(report, "uninitialized: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, "work-item   (39, 0, 0)")) << report;
  EXPECT_TRUE(has(report, "because     the address depends on")) << report;
}

// Bytes between members and the fourth part of vectors of three.
TEST_F(Check, PaddingIsClean) {
  EXPECT_EQ(check(R"(
    typedef struct { char a; int b; char c; } Padded;
    kernel void k(global int* to) {
      Padded one;
      one.a = 1, one.b = 2, one.c = 3;
      volatile local Padded other;
      global Padded* all = (global Padded*)to;
      all[get_global_id(0)] = one;
      global float3* vectors = (global float3*)(to + 16);
      vectors[get_global_id(0)] = (float3)(1, 2, get_global_id(0));
    })",
                  64, 4, 4),
            "");
}

// Processors with ECC clear the half that such a load does not load.
TEST_F(Check, AHalfThatIsLoadedAloneIsCleanWhereItClearsTheOther) {
  EXPECT_EQ(check(R"cl(kernel void k(global int* to) {
    int high = 0;
#ifdef __GFX9__
    __asm__ volatile("global_load_short_d16 v60, %1, off\n"
                     "s_waitcnt vmcnt(0)\n"
                     "v_lshrrev_b32 %0, 16, v60" : "=v"(high) : "v"(to) : "v60", "memory");
#endif
    to[get_global_id(0) + high] = 1;
  })cl",
                  64, 64, 64),
            "");
}

TEST_F(Check, WhatAnImageGivesIsClean) {
  const cl_image_format format{CL_RGBA, CL_SIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE1D;
  description.image_width = 64;
  std::vector<cl_int> texels(256, 5);
  cl_mem image = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &description,
                               texels.data(), nullptr);
  ASSERT_NE(image, nullptr);
  cl_mem buffer = make_buffer(1024);
  cl_program program = make_program(R"cl(kernel void k(global int4* to, read_only image1d_t from) {
    to[get_global_id(0)] = read_imagei(from, (int)get_global_id(0));
  })cl");
  EXPECT_EQ(launch(program, buffer, 64, 64, 0, image), "");
  for (cl_mem one : {buffer, image}) clReleaseMemObject(one);
  clReleaseProgram(program);
}

// One register: what lies behind it is loaded meanwhile, and VCCZ follows it.
TEST_F(Check, AMaskOf32LanesIsClean) {
  EXPECT_EQ(check(R"cl(kernel void k(global int* to) {
#ifdef __GFX11__
    __asm__ volatile("s_load_b64 s[22:23], %0, 0x0\n"
                     "v_mov_b32 v60, 0\n"
                     "v_cmp_gt_u32_e64 s21, 1, v60\n"
                     "s_and_b32 vcc_lo, exec_lo, s21\n"
                     "s_nop 4\n"
                     "s_cbranch_vccz 0\n"
                     "s_waitcnt lgkmcnt(0)" : : "s"(to) : "v60", "s21", "s22", "s23", "vcc", "memory");
#endif
    to[get_global_id(0) + 64] = 1;
  })cl",
                  128, 64, 64),
            "");
}

// The destination is read, too, but stays only where there is no lane to read.
TEST_F(Check, APermutationOf32LanesIsClean) {
  EXPECT_EQ(check(R"cl(kernel void k(global int* to) {
    int other = 1;
#ifdef __GFX11__
    __asm__ volatile("v_mov_b32 v60, 2\n"
                     "v_permlanex16_b32 v61, v60, 0, 0\n"
                     "v_mov_b32 %0, v61" : "=v"(other) : : "v60", "v61");
#endif
    to[get_global_id(0)] = other;
  })cl",
                  64, 64, 64),
            "");
}

TEST_F(Check, ARegisterWithItselfAndOtherLanesIsNotNothing) {
  const std::string report = check(R"cl(kernel void k(global int* to) {
    int mixed;
    __asm__ volatile("v_xor_b32_dpp v60, v61, v61 row_shr:1 row_mask:0xf bank_mask:0xf\n"
                     "v_and_b32 %0, 1, v60" : "=v"(mixed) : : "v60", "v61");
    to[get_global_id(0) * 2 + mixed] = 1;
  })cl",
                                   128, 64, 64);
  EXPECT_TRUE(has(report, "nobody has written")) << report;
}

// The text between the fences that begin with the first and the second of these lines.
std::string example(const std::string& page, const char* begin) {
  const size_t from = page.find(begin);
  if (from == std::string::npos) return {};
  return page.substr(from, page.find("```", from) - from);
}

// "..." stands for what differs from run to run.
bool matches(const std::string& pattern, const std::string& line) {
  return fnmatch(std::regex_replace(pattern, std::regex("\\.\\.\\."), "*").c_str(), line.c_str(), 0) == 0;
}

std::string without_brackets(std::string line) {
  for (char& c : line)
    if (c == '[' || c == ']') c = '|';
  return line;
}

TEST_F(Check, TheExampleOfTheDocument) {
  std::ifstream file(MORGANA_SOURCE_DIR "/docs/checking.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string source = example(page, "kernel void fill(");
  ASSERT_NE(source, "");
  source.replace(source.find("fill"), 4, "k");
  std::istringstream expected(example(page, "morgana: out-of-bounds: kernel 'fill'"));
  std::istringstream report(check(source.c_str(), 100, 128, 64));
  int lines = 0;
  for (std::string pattern, line; std::getline(expected, pattern) && !pattern.empty(); lines++) {
    ASSERT_TRUE(std::getline(report, line));
    pattern = std::regex_replace(pattern, std::regex("fill"), "k");
    pattern = std::regex_replace(pattern, std::regex("gfx950"), "gfx*");
    if (has(pattern, "instruction")) pattern = "  instruction *_store_dword *";  // by target
    EXPECT_TRUE(matches(without_brackets(pattern), without_brackets(line))) << pattern << "\n" << line;
  }
  EXPECT_EQ(lines, 8);
  const std::string rest{std::istreambuf_iterator<char>(report), {}};
  EXPECT_EQ(rest, "\n");
}

}  // namespace
}  // namespace morgana::icd::test
