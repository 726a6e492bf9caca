// Device-side enqueue on every device that offers it: kernels that kernels enqueue, their events, errors and
// faults.
#include "icd/device_enqueue_support.h"

namespace morgana::icd::test {
namespace {

TEST_F(DeviceEnqueue, AllFormsWithCapturesAndLocalArguments) {
  constexpr const char* kSource = R"(
kernel void k(global int* out, int n) {
  queue_t q = get_default_queue();
  char small = 5; double wide = 0.5; short4 four = (short4)(1, 2, 3, 4);
  clk_event_t first, second, third;
  const size_t grid[2] = {4, 2}, group[2] = {2, 2}, from[2] = {10, 20};
  out[0] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(8, 4), ^{
    out[16 + get_global_id(0)] = n + small + (int)(wide * 2) + four.w + (int)get_local_size(0);
  });
  out[1] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_2D(from, grid, group), 0, NULL, &first, ^{
    out[24 + (get_global_id(1) - 20) * 4 + get_global_id(0) - 10] = (int)(get_global_offset(1) * 100 + get_group_id(0));
  });
  out[2] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP, ndrange_1D(64), 1, &first, &second,
    ^(local void* a, local void* b) {
      size_t i = get_local_id(0);
      ((local char*)a)[i] = i; ((local double2*)b)[i] = (double2)(i, out[24]);
      barrier(CLK_LOCAL_MEM_FENCE);
      out[32 + i] = ((local char*)a)[63 - i] + (int)((local double2*)b)[63 - i].y;
    }, 64u, (uint)(64 * sizeof(double2)));
  out[3] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^(local void* a) {
    *(local int*)a = n;
    out[96] = *(local int*)a;
  }, (uint)sizeof(int));
  out[4] = enqueue_marker(q, 1, &second, &third);
  out[5] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &third, NULL, ^{ out[97] = out[32]; });
  out[6] = is_valid_event(first);
  release_event(first); release_event(second); release_event(third);
})";
  on_each_device([&] {
    for (const char* options : {"", "-cl-opt-disable", "-g"}) {
      SCOPED_TRACE(options);
      const std::vector<int> out = run(kSource, 98, {1000}, options);
      EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 7), (std::vector<int>{0, 0, 0, 0, 0, 0, 1}));
      for (int i = 0; i < 8; ++i) EXPECT_EQ(out[16 + i], 1000 + 5 + 1 + 4 + 4) << i;
      for (int i = 0; i < 8; ++i) EXPECT_EQ(out[24 + i], 2000 + i % 4 / 2) << i;
      for (int i = 0; i < 64; ++i) EXPECT_EQ(out[32 + i], 63 - i + 2000) << i;
      EXPECT_EQ(out[96], 1000);
      EXPECT_EQ(out[97], 2063) << "behind a marker";
    }
  });
}

// cl_khr_device_enqueue_local_arg_types: blocks whose parameters point to other types than void, as literals,
// variables and typedefs, out of macros, in other blocks, and next to an old-fashioned one.
TEST_F(DeviceEnqueue, LocalArgumentsOfAnyType) {
  constexpr const char* kSource = R"(
#ifndef cl_khr_device_enqueue_local_arg_types
#error
#endif
#pragma OPENCL EXTENSION cl_khr_device_enqueue_local_arg_types : enable
#define GO(NUMBER, ...) enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), block##NUMBER, __VA_ARGS__)
#define LITERAL(TYPE, PLACE) ^(local TYPE* p) { TYPE t = {3, 4}; *p = t; out[PLACE] = *(local int*)p + __LINE__; }
typedef struct { int a, b; double16 wide; } pair;
typedef local pair* pair_pointer;
typedef void (^of_two)(local float4*, pair_pointer);
kernel void k(global int* out) {
  queue_t q = get_default_queue();
  clk_event_t made;
  const of_two block1 = ^(local float4* v, pair_pointer p) {
    *v = (float4)(1, 2, 3, 4); p->a = (int)(*v).w, p->b = 7;
    out[16] = p->a * 10 + p->b;
    out[17] = (size_t)v % sizeof(float4) == 0 && (size_t)p % sizeof(double16) == 0;
  };
  void (^block2)(local const char*, local void*) = ^(local const char* c, local void* v) { out[18] = v != 0; };
  out[0] = GO(1, 16u, (uint)sizeof(pair));
  out[1] = GO(2, 4u, 4u);
#line 100
  out[2] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 0, NULL, &made, LITERAL(int2, 19), 8u);
  out[3] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &made, NULL, ^(local void* p) {
    out[4] = enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(4, 4), ^(local int a[], local uchar16* local* b) {
      a[get_local_id(0)] = get_local_id(0) + out[19];
      barrier(CLK_LOCAL_MEM_FENCE);
      out[20 + get_local_id(0)] = a[3 - get_local_id(0)];
    }, 16u, 8u);
  }, 1u);
  release_event(made);
  out[5] = get_kernel_work_group_size(block1) >= 64;
  out[6] = get_kernel_preferred_work_group_size_multiple((block2)) >= 32;
})";
  on_each_device([&] {
    for (const char* options : {"", "-cl-opt-disable"}) {
      SCOPED_TRACE(options);
      const std::vector<int> out = run(kSource, 24, {}, options);
      EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 7), (std::vector<int>{0, 0, 0, 0, 0, 1, 1}));
      EXPECT_EQ(std::vector<int>(out.begin() + 16, out.end()),
                (std::vector<int>{47, 1, 1, 103, 106, 105, 104, 103}));
    }
  });
}

// What no kernel can be enqueued with stays an error, and names its place.
TEST_F(DeviceEnqueue, OtherArgumentsAreRefused) {
  const auto log_of = [&](const std::string& block) {
    const std::string source =
        "kernel void k(global int* out) {\n  enqueue_kernel(get_default_queue(), 0, "
        "ndrange_1D(1), ^(local int* p) {}, 4u);\n  enqueue_kernel(get_default_queue(), 0, "
        "ndrange_1D(1), " +
        block + ", 4u);\n}";
    const char* text = source.c_str();
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
    EXPECT_EQ(clBuildProgram(program, 1, &device, "-cl-std=CL3.0", nullptr, nullptr),
              CL_BUILD_PROGRAM_FAILURE);
    std::string log = build_log(program);
    clReleaseProgram(program);
    return log;
  };
  on_each_device([&] {
    for (const char* block : {"^(global int* p) {}", "^(int p) {}", "^(local int* a, private int* p) {}"}) {
      const std::string log = log_of(block);
      EXPECT_NE(log.find("<source>:3:"), std::string::npos) << log;
      EXPECT_EQ(log.find("<source>:2:"), std::string::npos) << log;
    }
  });
}

// Clang 22 ends in a crash where it generates code for these.
TEST_F(DeviceEnqueue, BlocksInParentheses) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  queue_t q = get_default_queue();
  void (^one)(void) = (^{ out[8] = 1; });
  void (^two)(local void*) = ^(local void* p) { out[9] = 2; };
  out[0] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), one);
  out[1] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ((two)), 4u);
  out[2] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), (void (^)(local void*))(^(local char* p) { out[10] = 3; }), 4u);
  out[3] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), (^{ out[11] = 4; }));
  out[4] = get_kernel_work_group_size((one)) >= 64;
})";
  on_each_device(
      [&] { EXPECT_EQ(run(kSource, 12), (std::vector<int>{0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4})); });
}

// Each level enqueues two of the next; the command ends with the last of them.
TEST_F(DeviceEnqueue, CommandIsCompleteWhenAllDescendantsAre) {
  constexpr const char* kSource = R"(
void level(global int* out, int left) {
  atomic_inc(out);
  if (left == 0) return;
  for (int i = 0; i < 2; ++i)
    if (enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{ level(out, left - 1); }))
      atomic_inc(out + 1);
}
kernel void k(global int* out, int levels) { level(out, levels); })";
  on_each_device([&] {
    const std::vector<int> out = run(kSource, 2, {10});
    EXPECT_EQ(out[0], (1 << 11) - 1);
    EXPECT_EQ(out[1], 0);
  });
}

TEST_F(DeviceEnqueue, EventOfAKernelWaitsForWhatItEnqueued) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  clk_event_t all;
  queue_t q = get_default_queue();
  enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 0, NULL, &all, ^{
    enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{
      enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ out[0] = 7; });
    });
  });
  enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &all, NULL, ^{ out[1] = out[0]; });
  release_event(all);
})";
  on_each_device([&] { EXPECT_EQ(run(kSource, 2), (std::vector<int>{7, 7})); });
}

// A negative status ends what waits, and what waits for that; a later child may set a user event.
TEST_F(DeviceEnqueue, UserEventsHoldAndTerminate) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  queue_t q = get_default_queue();
  clk_event_t bad = create_user_event(), good = create_user_event(), one, two;
  out[0] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &bad, &one, ^{ out[4] = 1; });
  out[1] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &one, NULL, ^{ out[5] = 1; });
  out[2] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &good, &two, ^{ out[6] = out[7] + 1; });
  out[3] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1),
                          ^{ out[7] = 1; set_user_event_status(good, CL_COMPLETE); release_event(good); });
  set_user_event_status(bad, -1);
  set_user_event_status(bad, CL_COMPLETE);
  release_event(bad); release_event(one); release_event(two);
})";
  on_each_device([&] { EXPECT_EQ(run(kSource, 8), (std::vector<int>{0, 0, 0, 0, 0, 0, 2, 1})); });
}

TEST_F(DeviceEnqueue, WaitThatCannotEndIsAnError) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  clk_event_t never = create_user_event();
  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &never, NULL, ^{ out[0] = 1; });
  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ out[1] = 1; });
})";
  on_each_device([&] {
    cl_int status;
    EXPECT_EQ(run(kSource, 2, {}, "", &status), (std::vector<int>{0, 1}));
    EXPECT_EQ(status, CL_OUT_OF_RESOURCES);
    EXPECT_NE(report.find("'__k_block_invoke_kernel' that it enqueued waits for an event"), std::string::npos)
        << report;
    // The queue goes on.
    EXPECT_EQ(run("kernel void k(global int* out) { out[0] = 3; }", 1), (std::vector<int>{3}));
  });
}

TEST_F(DeviceEnqueue, FaultOfAChildIsTheCommandsAndNamesTheChild) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(2), ^{
    ((global int*)8)[get_global_id(0)] = 1;
  });
  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ out[0] = 1; });
})";
  on_each_device([&] {
    cl_int status;
    EXPECT_EQ(run(kSource, 1, {}, "-g", &status), (std::vector<int>{0}));
    EXPECT_EQ(status, CL_OUT_OF_RESOURCES);
    EXPECT_NE(report.find("kernel '__k_block_invoke_kernel'"), std::string::npos) << report;
  });
}

TEST_F(DeviceEnqueue, ErrorsAreToldToProgramsBuiltWithG) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  queue_t q = get_default_queue(), none = 0;
  clk_event_t e = create_user_event();
  size_t flat[3] = {8, 8, 8}, much[3] = {64, 64, 1};
  out[0] = enqueue_kernel(none, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{});
  out[1] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_3D(flat, much), ^{});
  out[2] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, NULL, NULL, ^{});
  out[3] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 0, &e, NULL, ^{});
  out[4] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^(local void* p) {}, (uint)out[9]);
  out[5] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^(local void* p) {}, 1u << 30);
  clk_event_t null = CLK_NULL_EVENT;
  out[6] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &null, NULL, ^{});
  out[7] = is_valid_event(null);
  out[8] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D((size_t)1 << 40), ^{});
  out[9] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D((size_t)0, (size_t)1), ^{ out[0] = 1; });
})";
  on_each_device([&] {
    EXPECT_EQ(run(kSource, 10, {}, "-g"), (std::vector<int>{-102, -160, -57, -57, -51, -5, -57, 0, -160, 0}));
    EXPECT_EQ(run(kSource, 10), (std::vector<int>{-101, -101, -101, -101, -101, -101, -101, 0, -101, 0}));
    // Without a default queue there is none to name.
    clReleaseCommandQueue(on_device);
    on_device = nullptr;
    EXPECT_EQ(run(kSource, 10, {}, "-g")[9], -102);
  });
}

}  // namespace
}  // namespace morgana::icd::test
