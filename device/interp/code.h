// What handlers know of the code they execute, and the services they call outside their level.
//
// Free of the standard library on purpose: interp files include this at every host vector level, and an
// inline std function compiled for AVX-512 must not become the copy that the linker keeps for everyone.
#pragma once

#include "device/host_level.h"
#include "device/interp/step.h"

namespace morgana::device {

struct Neighbours;

// A code region: steps[i] belongs to the dword at address + 4 * i; steps[count] is the end, where execution
// faults.
struct Code {
  uint64_t address = 0;
  const Step* steps = nullptr;
  uint64_t count = 0;
  bool reads_exceptions = false;  // some instruction reads TRAPSTS

  bool contains(uint64_t pc) const { return pc >= address && pc - address < count * 4; }
  uint64_t pc(const Step* step) const { return address + static_cast<uint64_t>(step - steps) * 4; }
};

// Compiled once, in device/program and device/dispatch; handlers call them on their slow paths.
namespace service {

// Decodes the straight run that starts at `step` of wave.code, after which step->run is its handler.
void decode(Wave& wave, const Step* step);

// The step at guest address `pc` in any loaded region (wave.code follows it); nullptr when there is none.
const Step* find_step(Wave& wave, uint64_t pc);

// Enters the trap handler: TTMP0 and TTMP1 get `pc`, the dwords back to the instruction that caused it, the
// trap's id and whether the host asked for it; the wave becomes privileged and wave.step the handler's first.
// False: no code is loaded at TBA, and the fault at `step` is recorded.
bool enter_trap(Wave& wave, const Step* step, uint64_t pc, uint32_t rewind, uint32_t id, bool is_host);

// Lets the waves of the group that wait at its barrier go on.
void release_barrier(Wave& wave);

// Whether the wave's own trap handler takes what would be a fault at `step`; it has been entered then.
bool trap_instead(Wave& wave, const Step* step, FaultKind kind);

// The arithmetic exceptions of an instruction whose operands have been fetched: 64 dwords for each register,
// 16-bit values in the low half. Adds to wave.observed. Of two in one, `inst.row` is the one that is meant.
void observe(Wave& wave, const isa::Inst& inst, const uint32_t* const* src, uint64_t lanes);
// The same, of an instruction that has judged itself: EXCP bits of each lane.
void observe_lanes(Wave& wave, const uint32_t* raised, uint64_t lanes);
// Whether the instruction can raise one.
bool is_observable(const isa::Inst& inst);
// Whether the addresses in wave.access hit wave.watches; adds to wave.observed.
void observe_access(Wave& wave, const isa::Inst& inst);

// Fills in Group::fault.
void record_fault(Wave& wave, const Step* step, FaultKind kind, const char* detail, uint64_t address,
                  int lane, bool is_write);

// Clocks as s_memtime and s_memrealtime read them: nanoseconds, and ticks of 10 ns.
uint64_t core_clock();
uint64_t real_time();

}  // namespace service

// One compiled level of the interpreter.
struct Level {
  HostLevel host;
  // Chooses the handler; nullptr: no semantics.
  Handler (*select)(Target target, const isa::Inst& inst, Step& step);
  // Executes from wave.step until wave.exit is set. Leaves the host's float environment as the wave wants it.
  void (*run)(Wave& wave);
  // After a host fault in wave.step: puts the addresses that the instruction was about to touch into
  // wave.access, if its registers tell. True when wave.access holds them.
  bool (*locate_access)(Wave& wave);
  // The handlers of steps without an instruction: not decoded yet; execution ends in a fault (`extra` is its
  // FaultKind, `constants` its detail as a C string).
  Handler undecoded;
  Handler fault;
  // The handler of an instruction that names registers beyond those of the wave that decoded it.
  Handler bounded;
  // Of a wait for LDS at which the waves of a group take turns.
  Handler turn;
  // Of a launch that is checked for races: whether an access, to LDS that the check has said is not quiet, or
  // to whole lines of global memory, races with nothing that was there before; then it has left its marks.
  // False: RaceCheck says whether it does, and leaves them again.
  bool (*leave_marks)(const Wave& wave, uint64_t pc, const Neighbours& lanes);
  const void* paths;  // for compiled kernels (jit/paths.h)
};

// The level in use: the best that the processor has and the option `simd` allows. Chosen at the first call.
const Level& level();

namespace base {
extern const Level kLevel;
}
namespace avx2 {
extern const Level kLevel;
}
namespace avx512 {
extern const Level kLevel;
}

}  // namespace morgana::device
