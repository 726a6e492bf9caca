// Step: an instruction made ready for the interpreter, and how handlers are chained.
//
// A Program holds one Step per dword of code; the instruction at dword i is steps[i], the next one
// steps[i + size in dwords], so PC and Step convert into each other by arithmetic, and a branch is
// pointer arithmetic. Steps are decoded when first reached (the initial handler decodes). They are
// immutable once published. Code outside device/interp sees Steps and their handlers, never their insides.
//
// Files of device/interp are compiled once per host vector level, into the namespace MORGANA_SIMD
// (base, avx2, avx512), with that level's compiler flags. Whatever they define stays in that namespace
// or has internal linkage, so that no AVX-512 code can be chosen by the linker for another level.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/isa/inst.h"
#include "device/state/wave.h"

namespace morgana::device {

using Handler = void (*)(Wave& wave, const Step* step);

// How a source operand of a Step is fetched.
enum class Source : uint8_t {
  none,
  vgpr,      // `index` is the byte offset into wave.v
  agpr,      // `index` is the byte offset into wave.a
  scalar,    // `index` is the operand code: wave.s[index] (and [index + 1] for 64 bits)
  constant,  // `constants + index`: a lane vector already broadcast (one or two dwords a lane)
  special,   // VCCZ, EXECZ, SCC, apertures, TTMPs, LDS_DIRECT: computed when read
};

struct alignas(64) Step {
  std::atomic<Handler> run;
  const isa::Inst* inst;  // everything else about it; owned by the Program
  const uint32_t*
      constants;   // inline constants and literals of this instruction, broadcast; scalar users read [0], [1]
  int32_t src[4];  // see Source
  Source kind[4];
  int32_t dst;      // VGPR destination: byte offset into wave.v; scalar: the operand code
  uint16_t sdst;    // second, scalar destination: operand code
  uint8_t dwords;   // size of the instruction
  uint8_t plain;    // no modifier of any kind: the fast frame serves
  int32_t imm;      // branch distance in steps, SOPK/SOPP immediate, memory offset
  uint32_t extra;   // free for the handler's own use
  int32_t ordinal;  // minus the number of instructions from here to the end of the straight run: differences
                    // count the instructions between two steps of one run (device/interp/control.h)
};
static_assert(sizeof(Step) == 64);

// Goes on with the instruction after `step`.
#define MORGANA_NEXT(wave, step) MORGANA_GO(wave, (step) + (step)->dwords)
// Goes on with `next`.
#define MORGANA_GO(wave, next)                                                          \
  do {                                                                                  \
    const ::morgana::device::Step* next_ = (next);                                      \
    [[clang::musttail]] return next_->run.load(std::memory_order_acquire)(wave, next_); \
  } while (false)

#ifdef MORGANA_SIMD
namespace MORGANA_SIMD {

// Each chooses the handler for an instruction of its kind and fills the Step's own fields (src, kind, dst and
// constants are already there). Returns nullptr for an instruction that has no semantics.
Handler select_scalar(Target target, const isa::Inst& inst,
                      Step& step);  // SOP*, branches, messages, barriers
Handler select_vector(Target target, const isa::Inst& inst, Step& step);  // VOP*, MFMA
Handler select_memory(Target target, const isa::Inst& inst,
                      Step& step);  // SMEM, DS, MUBUF, MTBUF, FLAT, MIMG

// Stops the wave with a fault at `step`; handlers `return raise(...)`.
void raise(Wave& wave, const Step* step, FaultKind kind, const char* detail, uint64_t address = 0,
           int lane = -1, bool is_write = false);

// Brings the host's rounding and denormal state in line with wave.mode (after s_setreg, s_round_mode, ...).
void apply_mode(Wave& wave);
// The same with the mode of f16 and f64, for code that does not compute in f32.
void apply_wide_mode(const Wave& wave);

}  // namespace MORGANA_SIMD
#endif

}  // namespace morgana::device
