// Tier: which kernels of a Device are compiled, and when.
//
// Owned by a Device, used by every thread that runs launches. With MORGANA_JIT=sync a kernel is compiled
// before its first launch begins, with `on` in the background, so that launches switch to it between
// work-groups; `off` interprets everything. A kernel that cannot be compiled is interpreted, and the log says
// why once.
#pragma once

#include <memory>

#include "device/jit/kernel.h"

namespace morgana::device::jit {

// What a launch has of its kernel: nothing at first, later its compiled forms. Any thread.
class Request {
 public:
  virtual ~Request() = default;
  // The form for a wave whose lanes are all active at the beginning, or for one with fewer; nullptr: not
  // (yet) compiled.
  virtual const Kernel* kernel(bool full_wave) const = 0;
};

class Tier {
 public:
  Tier();
  ~Tier();
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;

  // The forms of the kernel that begins at `entry`. `full` and `partial`: which kinds of waves the launch
  // has. nullptr when the JIT is off.
  std::shared_ptr<const Request> request(Program& program, const Step* entry, const Specialisation& key,
                                         bool full, bool partial);

  // Forgets the kernels of a region and waits until none of them is being compiled.
  void remove(const Program* program);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace morgana::device::jit
