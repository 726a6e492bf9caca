// Fixture of the tests that record dispatches (MORGANA_RECORD, in the environment of the tests) and replay
// them by `morgana replay`, in a process that knows nothing but the file.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "icd/test_support.h"

namespace morgana::icd::test {

namespace fs = std::filesystem;

struct Ended {
  int status = -1;
  std::string output;  // both streams
};

// A command of a shell.
inline Ended run_command(const std::string& words) {
  const std::string command = words + " 2>&1";
  Ended ended;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"),
                                                             [](std::FILE*) { return 0; });
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe.get()))
    ended.output.append(part.data(), size);
  const int status = pclose(pipe.get());
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

// The variables of this process are not the replay's, whose words follow `before`.
inline Ended replay(const std::string& words, const std::string& before = "") {
  return run_command("env -u MORGANA_RECORD -u MORGANA_JIT -u MORGANA_THREADS " + before +
                     " " MORGANA_TOOL " replay " + words);
}

class Replay : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    folder = std::getenv("MORGANA_RECORD");
    // A recording of this process has the folder already; only its files go.
    if (fs::exists(folder))
      for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
  }

  // The files of a kernel's dispatches, oldest first.
  std::vector<std::string> capsules(const std::string& kernel) {
    std::vector<std::string> found;
    if (fs::exists(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().ends_with("-" + kernel + ".mgd")) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  // Executes kernel `name` with these arguments; those already set are kept where the list is empty.
  void run(cl_kernel kernel, size_t items, size_t group, cl_int expected = CL_SUCCESS, size_t offset = 0) {
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(clFinish(queue), expected);
  }

  // A kernel whose only argument is a buffer of `elements` ints that count from 0.
  void run_on_buffer(const char* source, const char* name, size_t elements, size_t items, size_t group,
                     cl_mem_flags flags = CL_MEM_COPY_HOST_PTR) {
    std::vector<cl_int> values(elements);
    for (size_t i = 0; i < elements; ++i) values[i] = static_cast<cl_int>(i);
    cl_program program = make_program(source, "-g -cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, name);
    cl_mem buffer = make_buffer(elements * sizeof(cl_int), flags, values.data());
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    run(kernel, items, group);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  }

  // Every dispatch of the kernel comes out alike on both tiers.
  void expect_equal(const std::string& kernel, size_t count = 1) {
    const std::vector<std::string> files = capsules(kernel);
    ASSERT_EQ(files.size(), count) << kernel;
    for (const std::string& file : files)
      for (const char* tier : {"--jit=off ", "--jit=sync "}) {
        const Ended ended = replay(tier + file);
        EXPECT_EQ(ended.status, 0) << tier << file << "\n" << ended.output;
        EXPECT_TRUE(has(ended.output, "equal: every byte")) << ended.output;
      }
  }

  std::string folder;
};

}  // namespace morgana::icd::test
