// Kernel: the compiled code of one kernel for one Specialisation, and how a wave executes it.
//
// Made by `compile`, immutable afterwards and shared by all waves on all threads. It refers to the Steps of
// the Program that it was compiled from and must not be run after that is gone.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "device/counted_code.h"
#include "device/jit/abi.h"
#include "device/jit/specialisation.h"
#include "device/program/program.h"

namespace morgana::device::jit {

// UBSan looks for a function's type in front of its code. What LLVM's JIT makes has none, and may begin a
// page.
#define MORGANA_CALLS_COMPILED __attribute__((no_sanitize("function")))

class Kernel {
 public:
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Makes `frame` that of a wave at the beginning of the kernel.
  void enter(WaveFrame& frame, uint8_t streams_from = kNeverStreams) const;

  const Specialisation& specialisation() const { return key_; }
  // Whether it executes all waves of a group by itself (run_compiled).
  bool loops_over_waves() const { return loops_over_waves_; }
  // Of those: waves that write do not load afterwards. Only what writes is noted; a wave whose load faults is
  // as it began.
  bool reads_first() const { return reads_first_; }
  // Whether it computes in MODE's f16/f64 fields instead of its f32 ones.
  bool computes_wide() const { return computes_wide_; }
  // Only a wave that leaves it asks for registers in its Wave, or brings some there.
  bool is_closed() const { return is_closed_; }
  // Of a closed kernel: what a wave begins with and its Wave may not hold any more at its end.
  struct Renewed {
    uint8_t first_scalar = 0, scalars = 0;  // so many from the first to the last such SGPR
    uint8_t vectors = 0;                    // a bit each, of v0 to v2
  };
  const Renewed& renewed() const { return renewed_; }

  // Of one that counts.
  const CountedCode& counted() const { return counted_; }

  // How its instructions are executed: by code of their own but for those.
  struct Shares {
    uint32_t instructions = 0;
    uint32_t by_handlers = 0;  // of the interpreter, one at a time
    uint32_t leaves = 0;       // from there on the interpreter executes the wave
    uint64_t host_bytes = 0;   // of code, what it calls included
  };
  const Shares& shares() const { return shares_; }

 private:
  friend class Compilation;
  friend void run_compiled(Wave& wave, WaveFrame& frame);
  friend Wave* run_compiled(Wave* begin, WaveFrame* frames, Wave* end, uint32_t groups);
  friend void run_in_turn(Wave& first, WaveFrame& frame, Wave* end);
  struct Linked;
  Kernel();
  Specialisation key_;
  Shares shares_;
  CountedCode counted_;
  Renewed renewed_;
  bool loops_over_waves_ = false, reads_first_ = false, is_closed_ = false, computes_wide_ = false;
  const Step* steps_ = nullptr;
  uint64_t address_ = 0;
  Entry entry_ = nullptr;
  std::unique_ptr<SingleStep[]> singles_;
  std::unique_ptr<Linked> linked_;
};

// How a kernel is compiled, step by step. One thread at a time.
class Compilation {
 public:
  // Of the kernel that begins at `entry`, a step of `program`, or of the rest of one from there on, given a
  // key without local size. This reads the guest's code, and later steps only what it noted, and the
  // Program's Steps. An error says why the kernel stays interpreted.
  static Result<std::unique_ptr<Compilation>> begin(Program& program, const Step* entry,
                                                    const Specialisation& key);
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  uint32_t instructions() const;
  double gain() const;  // gain.h
  // What the log calls the kernel; "kernel at 0x..." otherwise.
  void set_name(std::string name);
  // Whether the store has the code.
  bool find();
  // How often processes ended while they were at `generate`.
  uint32_t interruptions() const;
  // Makes the code, and gives it to the store. ErrorCode::build_failed: LLVM was left in the middle.
  Status generate();
  // After `find` or `generate`, once.
  Result<std::shared_ptr<const Kernel>> link();

 private:
  struct Parts;
  explicit Compilation(std::unique_ptr<Parts> parts);
  void note_interruption();
  std::unique_ptr<Parts> parts_;
};

// All of these steps. An error says why the kernel stays interpreted.
Result<std::shared_ptr<const Kernel>> compile(Program& program, const Step* entry, const Specialisation& key);

// Makes what LLVM makes at first use and the process's exit destroys: handlers that are registered with
// atexit afterwards run before the destruction of whatever `compile` uses. Once per process; any thread.
void warm_up();

// Executes a wave until it stops, as Level::run does: with the frame's kernel, or the interpreter once the
// kernel has handed the wave over.
void run(Wave& wave, WaveFrame& frame);

// The same as far as the frame's kernel goes, with the host's float state that `prepare` has set for all
// waves of a launch that begin with the frame's kernel, for a wave that has not stopped (Exit::none, not
// given way). Where it stops with Exit::none, `run` goes on with it.
void prepare(Wave& wave, const WaveFrame& frame);
inline void come_out(Wave& wave, WaveFrame& frame) {
  frame.in_kernel = false;
  if (wave.exit == Exit::ended || wave.exit == Exit::fault) return;
  if (frame.entry == kInterpret) frame.kernel = nullptr;
  // Only a sleeping wave has budget left.
  if (frame.gave_way) wave.budget = 0;
}
MORGANA_CALLS_COMPILED inline void run_compiled(Wave& wave, WaveFrame& frame) {
  frame.in_kernel = true;
  frame.kernel->entry_(&wave, &frame, &wave + 1, 1);
  come_out(wave, frame);
}

// The same for waves of a group that have the same kernel, which does not loop over them: in the order in
// which they lie, up to `end`, or the other way round. What each has done, `come_out` is to see; those that
// are not `in_kernel` have not run.
MORGANA_CALLS_COMPILED inline void run_in_turn(Wave& first, WaveFrame& frame, Wave* end) {
  frame.in_kernel = true;
  frame.kernel->entry_(&first, &frame, end, 1);
}

// The same for the waves of a group that begins, by a kernel that loops over them; the caller has marked them
// as `in_kernel`. Then, if the kernel is closed, for the groups that follow in the row: WaveFrame::group is
// the last that has begun. `end`: all have ended, of which only the last wave's `exit` tells. Else the wave
// that has not: those behind it have not begun.
MORGANA_CALLS_COMPILED inline Wave* run_compiled(Wave* begin, WaveFrame* frames, Wave* end, uint32_t groups) {
  frames->kernel->entry_(begin, frames, end, groups);
  return frames->current;
}

}  // namespace morgana::device::jit
