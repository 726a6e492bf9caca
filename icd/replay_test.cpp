// Dispatches are recorded and replayed on both tiers.
#include "icd/replay_support.h"
#include "icd/usm_support.h"

namespace morgana::icd::test {
namespace {

TEST_F(Replay, AStreamThroughMemory) {
  run_on_buffer("kernel void stream(global int* p) { p[get_global_id(0)] = p[get_global_id(0)] * 3 + 1; }",
                "stream", 1 << 18, 1 << 18, 256);
  expect_equal("stream");
}

TEST_F(Replay, LocalMemoryAndBarriers) {
  run_on_buffer(R"(kernel void turned(global int* p) {
    local int mine[128];
    size_t i = get_local_id(0);
    mine[i] = p[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    p[get_global_id(0)] = mine[127 - i];
  })",
                "turned", 1024, 1024, 128);
  expect_equal("turned");
}

TEST_F(Replay, Scratch) {
  run_on_buffer(R"(kernel void scratch(global int* p) {
    int own[64];
    for (int i = 0; i < 64; ++i) own[i] = p[(get_global_id(0) + i) % 500] ^ i;
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum = sum * 5 + own[p[get_global_id(0)] * i & 63];
    p[512 + get_global_id(0)] = sum;
  })",
                "scratch", 1024, 512, 64);
  expect_equal("scratch");
}

TEST_F(Replay, AtomicsOfAllKinds) {
  run_on_buffer(R"(kernel void atomics(global int* p) {
    local int bins[16];
    if (get_local_id(0) < 16) bins[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[p[1024 + get_global_id(0)] * 7 & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < 16) atomic_add(&p[get_local_id(0)], bins[get_local_id(0)]);
    atomic_max(&p[16 + (get_global_id(0) & 3)], (int)get_global_id(0));
  })",
                "atomics", 2048, 1024, 64);
  expect_equal("atomics");
}

TEST_F(Replay, DoublesAndMathematics) {
  run_on_buffer(R"(kernel void doubles(global int* p) {
    double x = p[get_global_id(0)] * 0.37 + 0.1;
    for (int i = 0; i < 20; ++i) x = sin(x) * sqrt(x * x + 1.0) + native_cos((float)x);
    p[get_global_id(0)] = as_int2(x).x ^ as_int2(x).y;
  })",
                "doubles", 300, 300, 60);
  expect_equal("doubles");
}

TEST_F(Replay, ConstantsAndVariablesOfTheProgram) {
  run_on_buffer(R"(
  constant int table[5] = {7, -1, 40, 3, 12};
  global int counter = 5;
  kernel void variables(global int* p) {
    p[get_global_id(0)] = table[p[get_global_id(0)] % 5];
    atomic_inc(&counter);
  })",
                "variables", 256, 256, 64);
  expect_equal("variables");
}

TEST_F(Replay, SubGroupsAndTheGlobalOffset) {
  cl_program program = make_program(R"(kernel void groups(global int* p) {
    size_t i = get_global_id(0);
    p[i] = work_group_reduce_add(p[i]) + sub_group_scan_inclusive_max(p[i]) + (int)get_global_offset(0);
  })",
                                    "-cl-std=CL3.0");
  cl_kernel kernel = make_kernel(program, "groups");
  std::vector<cl_int> values(1024, 3);
  cl_mem buffer = make_buffer(values.size() * sizeof(cl_int), CL_MEM_COPY_HOST_PTR, values.data());
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  run(kernel, 512, 128, CL_SUCCESS, 256);
  expect_equal("groups");
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, MemoryOfTheProgramItself) {
  run_on_buffer("kernel void own(global int* p) { p[get_global_id(0)] += 5; }", "own", 5000, 5000, 50,
                CL_MEM_USE_HOST_PTR);
  expect_equal("own");
}

TEST_F(Replay, PointersInSharedMemory) {
  const UsmApi usm(platform);
  struct Node {
    Node* next;
    cl_int value;
  };
  cl_program program = make_program(R"(
  struct node { global struct node* next; int value; };
  kernel void chain(global struct node* first) {
    int sum = 0;
    for (global struct node* at = first; at != 0; at = at->next) sum += at->value;
    if (get_global_id(0) == 0) first->value = sum;
  })");
  cl_kernel kernel = make_kernel(program, "chain");
  std::vector<void*> nodes;
  Node* next = nullptr;
  for (int i = 0; i < 20; ++i) {
    auto* node = static_cast<Node*>(i % 2 == 0 ? clSVMAlloc(context, CL_MEM_READ_WRITE, 5000, 0)
                                               : usm.host(context, nullptr, 5000, 0, nullptr));
    ASSERT_NE(node, nullptr);
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, node, sizeof(Node), 0, nullptr, nullptr);
    *node = {next, i};
    clEnqueueSVMUnmap(queue, node, 0, nullptr, nullptr);
    nodes.push_back(next = node);
  }
  clSetKernelArgSVMPointer(kernel, 0, next);
  run(kernel, 64, 64);
  expect_equal("chain");
  for (size_t i = 0; i < nodes.size(); ++i)
    if (i % 2 == 0)
      clSVMFree(context, nodes[i]);
    else
      usm.free(context, nodes[i]);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, ImagesAndSamplers) {
  cl_program program = make_program(R"(
  constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
  kernel void picture(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0) % 64, get_global_id(0) / 64);
    write_imagef(to, at, read_imagef(from, s, convert_float2(at) * 0.7f));
  })");
  cl_kernel kernel = make_kernel(program, "picture");
  std::vector<cl_uchar> texels(64 * 64 * 4);
  for (size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<cl_uchar>(i * 7);
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 64;
  cl_int error;
  cl_mem from = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, texels.data(), &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem to = clCreateImage(context, CL_MEM_WRITE_ONLY, &format, &desc, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  clSetKernelArg(kernel, 0, sizeof from, &from);
  clSetKernelArg(kernel, 1, sizeof to, &to);
  run(kernel, 4096, 64);
  expect_equal("picture");
  clReleaseMemObject(from);
  clReleaseMemObject(to);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, WhatKernelsPrint) {
  run_on_buffer("kernel void prints(global int* p) { if (get_global_id(0) == 3) printf(\"%d\\n\", p[3]); }",
                "prints", 64, 64, 64);
  expect_equal("prints");
}

TEST_F(Replay, ManyDispatchesOfOneKernelOneAfterAnother) {
  cl_program program = make_program(
      "kernel void again(global int* p) { p[get_global_id(0)] += p[(get_global_id(0) * 7) & 255] & 3; }");
  cl_kernel kernel = make_kernel(program, "again");
  cl_mem buffer = make_buffer(256 * sizeof(cl_int));
  const std::vector<cl_int> values(256, 1);
  clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 1024, values.data(), 0, nullptr, nullptr);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  const size_t items = 64;
  // Small buffers come and go meanwhile.
  for (int i = 0; i < 10; ++i) {
    clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr);
    clReleaseMemObject(make_buffer(512));
  }
  clFinish(queue);
  expect_equal("again", 10);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, OnlyTouchedPagesAreKept) {
  run_on_buffer("kernel void few(global int* p) { p[get_global_id(0) * 250000] = p[500000]; }", "few",
                1 << 20, 4, 4);
  const std::vector<std::string> files = capsules("few");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_LT(fs::file_size(files[0]), 100'000u);
  expect_equal("few");
}

TEST_F(Replay, AFaultComesAtTheSameInstruction) {
  cl_program program = make_program(
      "kernel void wild(global int* p) { p[get_global_id(0)] = 1; if (get_global_id(0) == 70) *(global "
      "int*)(p[70] * 16L) = 5; }",
      "-g");
  cl_kernel kernel = make_kernel(program, "wild");
  cl_mem buffer = make_buffer(4096);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  const size_t items = 128, group = 64;
  testing::internal::CaptureStderr();
  clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
  clFinish(queue);
  testing::internal::GetCapturedStderr();
  const std::vector<std::string> files = capsules("wild");
  ASSERT_EQ(files.size(), 1u);
  for (const char* tier : {"--jit=off ", "--jit=sync "}) {
    const Ended ended = replay(tier + files[0]);
    EXPECT_EQ(ended.status, 0) << ended.output;
    EXPECT_TRUE(has(ended.output, "memory violation: kernel 'wild'")) << ended.output;
    EXPECT_TRUE(has(ended.output, "work-item   (70, 0, 0)")) << ended.output;
    EXPECT_TRUE(has(ended.output, ":1\n")) << ended.output;  // the line
    EXPECT_TRUE(has(ended.output, "equal: the same fault")) << ended.output;
  }
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
