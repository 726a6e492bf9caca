// Fixture of the tests of `morgana profile`: programs that are tests of the same file and run only when they
// are asked for by name, and what the profile of one says.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "icd/test_support.h"

namespace morgana::icd::test {

using Json = nlohmann::json;

constexpr size_t kItems = 256;  // four waves

class Programs : public OpenCl {
 protected:
  // Executes kernel `k` of the source, whose arguments are two buffers.
  void run(const std::string& source, std::array<size_t, 2> items = {kItems, 1},
           std::array<size_t, 2> group = {64, 1}, const char* name = "k") {
    cl_program program = make_program(source.c_str(), "-g -cl-std=CL3.0 -cl-mad-enable");
    cl_kernel kernel = make_kernel(program, name);
    cl_mem from = make_buffer(1 << 20), to = make_buffer(1 << 20);
    const cl_int zero = 0;
    clEnqueueFillBuffer(queue, from, &zero, sizeof zero, 0, 1 << 20, 0, nullptr, nullptr);
    clSetKernelArg(kernel, 0, sizeof from, &from);
    clSetKernelArg(kernel, 1, sizeof to, &to);
    EXPECT_EQ(
        clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, items.data(), group.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    EXPECT_EQ(clFinish(queue), CL_SUCCESS);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  }
};

// One source each: the body of a kernel, at line 3.
#define PROGRAM(name, body)                                                                      \
  TEST_F(Programs, DISABLED_##name) {                                                            \
    run("kernel void k(global float* from, global float* to) {\n  size_t i = get_global_id(0), " \
        "l = get_local_id(0);\n" body "\n}\n");                                                  \
  }

struct Profiled {
  int status = -1;
  std::string output;
  Json json;
};

inline Profiled profile(const std::string& program, const std::string& words = "") {
  const std::string path = ::testing::TempDir() + "/profile" + std::to_string(getpid()) + ".json";
  const std::string command =
      std::string("env -u GTEST_SHARD_INDEX -u GTEST_TOTAL_SHARDS " MORGANA_TOOL " profile --json ") + path +
      " " + words + " -- " + "/proc/" + std::to_string(getpid()) +
      "/exe --gtest_also_run_disabled_tests --gtest_filter=Programs.DISABLED_" + program + " 2>&1 >/dev/null";
  Profiled made;
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe))
    made.output.append(part.data(), size);
  const int status = pclose(pipe);
  made.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ifstream file(path);
  made.json = Json::parse(file, nullptr, false);
  std::remove(path.c_str());
  return made;
}

// The counts of instructions of kernel `k` whose text has `part`.
struct Counted {
  std::map<std::string, uint64_t> sums;
  uint64_t operator[](const char* name) const { return sums.at(name); }
};
inline Counted counted(const Profiled& made, const std::string& part, const std::string& line = "") {
  Counted all;
  for (const char* name : {"executions", "lanes", "idle", "flop", "matrix_flop", "global_bytes", "lds_bytes",
                           "scratch_bytes", "lines", "least_lines", "lds_phases", "least_lds_phases"})
    all.sums[name] = 0;
  for (const Json& kernel : made.json["kernels"]) {
    if (kernel["name"] != "k") continue;
    for (const Json& one : kernel["instructions"]) {
      if (one["text"].get<std::string>().find(part) == std::string::npos) continue;
      if (!line.empty() && !one["source"].get<std::string>().ends_with(":" + line)) continue;
      for (auto& [name, sum] : all.sums) sum += one[name].get<uint64_t>();
    }
  }
  return all;
}

}  // namespace morgana::icd::test
