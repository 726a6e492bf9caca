// What else happens while a dispatch is recorded.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "icd/replay_support.h"
#include "runtime/capsule.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kInts = 16384;  // 16 pages

// Writes to all of its memory at once, and ends much later.
constexpr const char* kSlow = R"(kernel void slow(global int* p) {
  p[get_global_id(0)] = get_global_id(0);
  int x = p[(get_global_id(0) * 7) % 16384];
  for (int n = 0; n < 80000; ++n) x = x * 3 + (x >> 7);
  if (x == 1) p[get_global_id(0)] = 5;
})";

class SlowKernel {
 public:
  SlowKernel(cl_context context, cl_program program, cl_kernel kernel)
      : context_(context), program_(program), kernel_(kernel) {
    memory = static_cast<cl_int*>(clSVMAlloc(context, CL_MEM_READ_WRITE, kInts * sizeof(cl_int), 0));
    clSetKernelArgSVMPointer(kernel, 0, memory);
  }
  ~SlowKernel() {
    clSVMFree(context_, memory);
    clReleaseKernel(kernel_);
    clReleaseProgram(program_);
  }
  void begin(cl_command_queue queue) {
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &kInts, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(clFlush(queue), CL_SUCCESS);
    usleep(50'000);
  }
  cl_int* memory = nullptr;

 private:
  cl_context context_;
  cl_program program_;
  cl_kernel kernel_;
};

TEST_F(Replay, AChildThatIsForkedMeanwhileHasItsMemory) {
  cl_program program = make_program(kSlow, "-cl-std=CL3.0");
  SlowKernel slow(context, program, make_kernel(program, "slow"));
  cl_program other = make_program("kernel void quick(global int* p) { p[get_global_id(0)] = 3; }");
  cl_kernel quick = make_kernel(other, "quick");
  cl_mem buffer = make_buffer(256);
  clSetKernelArg(quick, 0, sizeof buffer, &buffer);
  constexpr int kChildren = 5;
  slow.begin(queue);
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (size_t at = 0; at < kInts; at += 512) slow.memory[at] += 1;
      // And records what it does itself.
      cl_command_queue own = make_queue(0);
      const size_t items = 64;
      clEnqueueNDRangeKernel(own, quick, 1, nullptr, &items, nullptr, 0, nullptr, nullptr);
      _exit(clFinish(own) == CL_SUCCESS ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
  }
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  expect_equal("slow");
  expect_equal("quick", kChildren);
  clReleaseMemObject(buffer);
  clReleaseKernel(quick);
  clReleaseProgram(other);
}

TEST_F(Replay, WhatAnotherQueueWritesIsToBlame) {
  cl_program program = make_program(kSlow, "-cl-std=CL3.0");
  SlowKernel slow(context, program, make_kernel(program, "slow"));
  cl_command_queue other = make_queue(0);
  slow.begin(queue);
  const cl_int nine = 9;
  EXPECT_EQ(clEnqueueSVMMemFill(other, slow.memory, &nine, sizeof nine, 4096, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(clFinish(other), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  const std::string path = capsules("slow").at(0);
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto capsule = runtime::parse_capsule(Bytes(bytes));
  ASSERT_TRUE(capsule.ok());
  const Ended ended = replay(path);
  // A compiled kernel may have ended before.
  if (ended.status == 1) {
    EXPECT_TRUE(capsule->has_others);
    EXPECT_TRUE(has(ended.output, "a queue executed something else, too")) << ended.output;
  } else {
    EXPECT_NE(std::string(std::getenv("MORGANA_JIT")), "off") << ended.output;
  }
  EXPECT_EQ(clReleaseCommandQueue(other), CL_SUCCESS);
}

}  // namespace
}  // namespace morgana::icd::test
