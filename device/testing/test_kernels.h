// The kernels of device/dispatch/testdata/kernels.txt, ready to launch. For tests and benchmarks of device/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"

namespace morgana::device {

// A kernel's code (kept alive by this object), a descriptor for it, and a Launch that the test completes.
class TestKernel {
 public:
  // On gfx940 and later the descriptor gives the kernarg pointer in s[0:1], work-group ids in s2, s3, s4 and
  // the group info in s5, packed work-item ids in v0; tests of launch state change it. Aborts when there is
  // no such kernel.
  TestKernel(const std::string& name, Target target);
  TestKernel(const TestKernel&) = delete;
  TestKernel& operator=(const TestKernel&) = delete;

  codeobj::KernelDescriptor descriptor;
  Launch launch;
  std::vector<uint64_t> arguments;

  // Registers the code with `device`, runs, unregisters.
  Fault run(Device& device);

  // The same in three steps, for launches that share the code. `own` stands for the object's arguments,
  // `groups` of `size` work-items for its grid and group; any thread.
  void load(Device& device);
  Fault launch_with(Device& device, const std::vector<uint64_t>& own, uint32_t groups, uint32_t size) const;
  void unload(Device& device);

  // Puts another number into the place of a literal, before the code is loaded.
  void replace_literal(uint32_t from, uint32_t to);

 private:
  std::vector<uint32_t> code_;
};

}  // namespace morgana::device
