// Tier: which kernels of a Device are compiled, and when.
//
// Owned by a Device, used by every thread that runs launches. With MORGANA_JIT=on a kernel that the
// interpreter has spent some time on is compiled in the background, and launches switch to it between
// work-groups; with `sync` it is compiled before its first launch begins; `off` interprets everything. A
// kernel that cannot be compiled is interpreted, and the log says why once. A forked child interprets: LLVM's
// locks may be held by threads that it does not have.
#pragma once

#include <atomic>
#include <memory>

#include "device/jit/kernel.h"

namespace morgana::device {
class LaunchWatch;
}

namespace morgana::device::jit {

// What a launch has of its kernel: nothing at first, later its compiled forms. Any thread.
class Request {
 public:
  virtual ~Request() = default;
  // The form for a wave whose lanes are all active at the beginning, or for one with fewer; nullptr: not
  // (yet) compiled.
  virtual const Kernel* kernel(bool full_wave) const = 0;
  // The interpreter has executed waves of the kernel for so many ticks (base/clock.h). `watch`, if any, is
  // told when that has become long.
  virtual void interpreted(uint64_t time, LaunchWatch* watch) = 0;
  // The rest of the kernel from `at` on, for a wave that has come there and has been interpreted for so long
  // before. nullptr: not (yet) compiled, or `at` is not the head of a loop of this kernel's code.
  virtual const Kernel* rest(const Step* at, bool full_wave, uint64_t time) = 0;
  // The same without a lock, of what `rest` has returned before.
  virtual const Kernel* known_rest(const Step* at, bool full_wave) const = 0;
  std::atomic<bool> has_rests{false};  // whether there are any

  // Whether it is being compiled in the background. On a machine that has no processor for that beside those
  // that interpret, launches had better leave it one.
  std::atomic<bool> is_compiling{false};
  // Waits for that where all processors are busy: what is interpreted meanwhile takes several times the
  // processor time that it takes once the kernel is compiled. Not for ever.
  virtual void give_room() = 0;

  // What a work-group takes in compiled code, about, in ticks (base/clock.h); 0: not known.
  std::atomic<uint64_t> group_time{0};
  void note_group_time(uint64_t time) {
    // Written only when it changes: all threads read what lies beside it.
    const uint64_t known = group_time.load(std::memory_order_relaxed);
    if (time > 2 * known || 2 * time < known) group_time.store(time, std::memory_order_relaxed);
  }
};

// Readies LLVM, unless the JIT is off. See Device::prepare_compiler.
void make_ready();

// Forms of kernels that this process has compiled so far, or found in the cache.
uint64_t compiled_forms();

class Tier {
 public:
  Tier();
  ~Tier();
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;

  // The forms of the kernel that begins at `entry`. `full` and `partial`: which kinds of waves the launch
  // has. `watch`, if any, knows the kernel's name. nullptr when the JIT is off.
  std::shared_ptr<Request> request(Program& program, const Step* entry, const Specialisation& key, bool full,
                                   bool partial, LaunchWatch* watch = nullptr);
  // The same for a launch that nobody compiles.
  std::shared_ptr<Request> refuse(const Program& program, const Step* entry, const char* why,
                                  LaunchWatch* watch = nullptr);

  // Forgets the kernels of a region, whose code may be gone afterwards. A compilation of one goes on, for the
  // store; the Program is destroyed when it has ended.
  void remove(std::unique_ptr<Program> program);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace morgana::device::jit
