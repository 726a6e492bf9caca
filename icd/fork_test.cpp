// Programs that fork while their other threads allocate.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class Forks : public OpenCl {};

TEST_F(Forks, AChildWorksWhateverOtherThreadsAllocate) {
  cl_program program = make_program("kernel void one(global int* p) { p[get_global_id(0)] = 1; }");
  cl_kernel kernel = make_kernel(program, "one");
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      // Large ones have pages of their own, small ones share slabs.
      for (const size_t size : {size_t{4} << 20, size_t{256}}) {
        clSVMFree(context, clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0));
      }
    }
  });
  const auto works = [&] {
    cl_command_queue own = make_queue(0);
    cl_mem small = make_buffer(256), large = make_buffer(size_t{4} << 20);
    const size_t items = 64;
    clSetKernelArg(kernel, 0, sizeof small, &small);
    clEnqueueNDRangeKernel(own, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr);
    cl_int last = 0;
    clEnqueueReadBuffer(own, small, CL_TRUE, (items - 1) * sizeof last, sizeof last, &last, 0, nullptr,
                        nullptr);
    return large != nullptr && clFinish(own) == CL_SUCCESS && last == 1;
  };
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(works() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
    if (status != 0) break;
  }
  is_over = true;
  other.join();
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
